// The two tables of segments in the text report.
#ifndef COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_
#define COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_

#include "rmap/report/text_tables.h"

namespace countrace::rmap {

void AppendSegments(TextTables& tables);
// By call path, indented under their process.
void AppendPaths(TextTables& tables);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_SEGMENTS_TEXT_H_
