// Rows of Report::preemptors from QueueTime's sums.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_PREEMPTOR_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_PREEMPTOR_ROWS_H_

#include "rmap/result/tables.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// Requires: all rows of threads and processes, with their bounds.
void BuildPreemptors(const TableSources& sources, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_PREEMPTOR_ROWS_H_
