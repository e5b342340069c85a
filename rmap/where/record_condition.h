// `script --where`: a condition over the values of hooks, for single records.
//
// In: a parsed expression; its fields are names of values. Out: yes or no, by
// the rules of row_filter.h: a record without one of the values does not
// satisfy it. Thread: one.
#ifndef COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_
#define COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap::where {

class RecordCondition {
 public:
  // Errors: kInvalidArgument with the place: no hook of the trace has a value
  // of that name; names those that there are.
  static absl::StatusOr<RecordCondition> Bind(WhereExpression where,
                                              const logformat::TraceInfo& info);

  bool Holds(const logformat::EventRecord& record) const;

 private:
  explicit RecordCondition(WhereExpression where) : where_(std::move(where)) {}

  WhereExpression where_;
  std::map<std::string, logformat::NamedValue> values_;
};

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_RECORD_CONDITION_H_
