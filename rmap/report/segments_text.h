// The two tables of segments in the text report.
#ifndef COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_
#define COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_

#include "rmap/report/text_tables.h"

namespace countrace::rmap {

// `rows`: the selected ones; call paths are indented under their process.
void AppendSegments(const Table<SegmentRow>& table,
                    const std::vector<Column<SegmentRow>>& columns,
                    const std::vector<SegmentRow>& rows, TextTables& tables);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_
