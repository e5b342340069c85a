// `script --where`, `report --slowest --where`: a condition over the values of
// hooks, for single records and calls.
//
// In: a parsed expression; its fields are names of values. Out: yes or no, by
// the rules of row_filter.h: a record without one of the values does not
// satisfy it. A text is compared with the name of a number, if it has one.
// Thread: one.
#ifndef COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_
#define COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/columns/column.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap::where {

class RecordCondition {
 public:
  // Errors: kInvalidArgument with the place: no hook of the trace has a value
  // of that name; names those that there are.
  static absl::StatusOr<RecordCondition> Bind(WhereExpression where,
                                              const logformat::TraceInfo& info);

  struct Value {
    Cell cell;         // monostate: not known
    std::string name;  // of a number
  };
  using Values = std::vector<Value>;  // of a record or call; empty: none

  // Adds those of `record`: a call's enter, then its exit.
  void Read(const logformat::EventRecord& record, Values& values) const;
  bool Holds(const Values& values) const;
  bool Holds(const logformat::EventRecord& record) const {
    Values values;
    Read(record, values);
    return Holds(values);
  }

 private:
  explicit RecordCondition(WhereExpression where) : where_(std::move(where)) {}

  WhereExpression where_;
  std::vector<std::pair<std::string, logformat::NamedValue>> fields_;
};

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_
