// Conditions on rows need the report's filter, whose regular expressions (RE2)
// are not in the module.
#include "viewer/server/tables/row_condition.h"

namespace countrace::viewer {

absl::StatusOr<SelectedRows> SelectIn(const TimelineIndex&, TimeRange,
                                      std::string_view) {
  return absl::InvalidArgumentError(
      "A filter needs the trace: open it with `countrace view`");
}

absl::StatusOr<SelectedTables> SelectTablesIn(const TimelineIndex&, TimeRange,
                                              std::string_view,
                                              const rmap::Report*) {
  return absl::InvalidArgumentError(
      "A filter needs the trace: open it with `countrace view`");
}

}  // namespace countrace::viewer
