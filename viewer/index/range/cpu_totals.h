// Where the time of each CPU went in a range: the rows of the report's CPUs.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_

#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// By number, with the numbers that the index has; of `dispatches` those of
// threads. CPUs without kernel records have no row.
std::vector<rmap::CpuRow> CpusIn(const TimelineIndex& index, TimeRange range);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_
