// The rows of a table of samples, for people and for programs. All such tables
// have the same parts, in this order:
//
//   for people: event (if there are several), amounts, group, context (if a
//     row has one), place
//   for programs: event, group, context, place, amounts
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_ROWS_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_ROWS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/program/row_table.h"
#include "cli/report/sample_groups.h"
#include "rmap/result/samples.h"

namespace countrace::cli {

struct SampleRows {
  std::vector<std::string> text_columns, machine_columns;
  std::vector<std::vector<Cell>> text, machine;  // rows
  std::vector<std::string> notes;
};

// What a table has of its own: names of columns, or the cells of a row. The
// place is what the table is by: a function, an area of memory.
template <typename Value>
struct SampleParts {
  std::vector<Value> text_amounts, text_place;
  std::vector<Value> machine_amounts, machine_place;
};

// Which columns of contexts there are.
enum class SampleContexts : std::uint8_t {
  kNone,
  kForPrograms,  // no row has a context
  kForAll,
};

class SampleRowList {
 public:
  // `samples` and `groups` must outlive this.
  SampleRowList(const rmap::Samples& samples, const SampleGroups& groups,
                SampleContexts contexts,
                const SampleParts<std::string>& columns);

  // `event`: of Samples::events. `group`: of SampleGroups::names, if there are
  // groups. `in`: the context.
  void Add(std::uint32_t event, std::uint32_t group, const std::string& in,
           const SampleParts<Cell>& cells);
  // All rows, without notes. Ends the list.
  SampleRows Take() { return std::move(rows_); }

 private:
  template <typename Value>
  void Join(const Value& event, const std::vector<Value>& group,
            const Value& in, const SampleParts<Value>& own,
            std::vector<Value>& text, std::vector<Value>& machine) const;

  const rmap::Samples& samples_;
  const SampleGroups& groups_;
  const SampleContexts contexts_;
  SampleRows rows_;
};

// kForAll if a row of the table has a context.
template <typename Rows>
SampleContexts ContextsOf(const Rows& rows) {
  for (const auto& row : rows) {
    if (!row.in.empty()) return SampleContexts::kForAll;
  }
  return SampleContexts::kForPrograms;
}

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_ROWS_H_
