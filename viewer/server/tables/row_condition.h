// The condition of `rows?where=` and `aggregate?where=`: that of `report
// --where`, on the numbers of a window.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_ROW_CONDITION_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_ROW_CONDITION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// By number. A process is shown if its row is selected, or one of a thread of
// it, or, for conditions that only segments have the fields of, one of a
// segment of it. Of the threads of such a process those are shown that are
// selected; all, if the condition is not on threads.
struct SelectedRows {
  std::vector<bool> processes, threads;
};

// `where` as ParseWhere() takes it. Rows that do nothing in `range` have the
// number 0 there.
//
// Returns: INVALID_ARGUMENT with the place in the text: it is no condition, or
// names a field that these rows do not have.
absl::StatusOr<SelectedRows> SelectIn(const TimelineIndex& index,
                                      TimeRange range, std::string_view where);

// The rows of each table by themselves, as the report selects them.
struct SelectedTables {
  // By number. Absent: the rows lack a field of the condition.
  std::optional<std::vector<bool>> processes, threads;
  // By process and hook.
  std::optional<std::set<std::pair<std::uint32_t, std::uint32_t>>> segments;
  // It has no field but `pid` and `comm`, so that the rows of a selected
  // process are selected in each table.
  bool of_names = false;
};

// As SelectIn(). `report`: whose rows these are; null: the index's.
absl::StatusOr<SelectedTables> SelectTablesIn(const TimelineIndex& index,
                                              TimeRange range,
                                              std::string_view where,
                                              const rmap::Report* report);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_ROW_CONDITION_H_
