// Which tables of an index are those of the report, too.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_FINAL_TABLES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_FINAL_TABLES_H_

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/server/tables/table_order.h"

namespace countrace::viewer {

// Whether a report of the range has the same rows and no limits of them: all is
// there, and no edge cuts counts of which no record says where they are.
bool AreFinal(const TimelineIndex& index, TimeRange range,
              const SortedTables& tables);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_FINAL_TABLES_H_
