// Rows of CPUs.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_CPU_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_CPU_ROWS_H_

#include "rmap/result/tables.h"
#include "rmap/tables/bounds/unseen_bounds.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

void BuildCpus(const TableInput& input, const UnseenBounds& bounds,
               Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_CPU_ROWS_H_
