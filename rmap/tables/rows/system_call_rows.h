// Rows of Report::system_call_rows: segments that are system calls, added up
// over processes.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_SYSTEM_CALL_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_SYSTEM_CALL_ROWS_H_

#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// `segments`: all rows of a report, or those that are selected. Most time
// first.
std::vector<SystemCallRow> SystemCallRows(
    const std::vector<SegmentRow>& segments);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_SYSTEM_CALL_ROWS_H_
