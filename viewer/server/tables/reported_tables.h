// The tables of a range with the rows of a report of it, in place of the
// index's; and whether the two are the same.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_REPORTED_TABLES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_REPORTED_TABLES_H_

#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/server/tables/table_order.h"

namespace countrace::viewer {

// All tables but those of waits and of call paths, in the order of TotalsIn().
// As there, processes and threads of which no CPU time is known have no row,
// nor has what did nothing, unless the report has limits of it; handlers of
// interrupts are no rows of segments.
//
// Refers to `report`, which has the limits (RunTotals::bounds and others).
SortedTables TablesOfReport(const TimelineIndex& index, TimeRange range,
                            const rmap::Report& report);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_REPORTED_TABLES_H_
