// Rows of threads and of processes.
#ifndef COUNTRACE_RMAP_TABLES_TASK_ROWS_H_
#define COUNTRACE_RMAP_TABLES_TASK_ROWS_H_

#include <vector>

#include "rmap/tables/table_input.h"
#include "rmap/tables/tables.h"
#include "rmap/tables/unseen_bounds.h"

namespace countrace::rmap {

void BuildThreads(const TableInput& input, const UnseenBounds& bounds,
                  Report& report);
// Returns rows of all processes by ProcessIndex, including those that the
// report omits. Requires: BuildThreads().
std::vector<ProcessRow> BuildProcesses(const TableInput& input,
                                       UnseenBounds& bounds, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_TASK_ROWS_H_
