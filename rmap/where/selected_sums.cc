#include "rmap/where/selected_sums.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "rmap/tables/rows/system_call_rows.h"

namespace countrace::rmap::where {

void SumSystemCalls(Report& report, RowSelection& selection) {
  const TableSelection& segments = selection.Of(ReportBy::kSegment);
  if (!segments.applies()) return;
  report.system_call_rows = SystemCallRows(
      SelectedRows(report.segments, &selection, ReportBy::kSegment));
  TableSelection sums;
  sums.summed = true;
  for (std::size_t i = 0; i < report.segments.size(); ++i) {
    if (!report.segments[i].errors) continue;  // not a system call
    sums.rows.push_back(segments.rows[i]);
    sums.selected += segments.rows[i] ? 1 : 0;
  }
  selection.tables[ReportBy::kSystemCall] = std::move(sums);
}

}  // namespace countrace::rmap::where
