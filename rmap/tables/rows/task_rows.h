// Rows of threads and of processes.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_TASK_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_TASK_ROWS_H_

#include <vector>

#include "rmap/result/tables.h"
#include "rmap/tables/bounds/unseen_bounds.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

void BuildThreads(const TableInput& input, const UnseenBounds& bounds,
                  Report& report);
// Returns rows of all processes by ProcessIndex, including those that the
// report omits. Requires: BuildThreads().
std::vector<ProcessRow> BuildProcesses(const TableInput& input,
                                       UnseenBounds& bounds, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_TASK_ROWS_H_
