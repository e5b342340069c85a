// Rows of CPUs.
#ifndef COUNTRACE_RMAP_TABLES_CPU_ROWS_H_
#define COUNTRACE_RMAP_TABLES_CPU_ROWS_H_

#include "rmap/tables/table_input.h"
#include "rmap/tables/tables.h"
#include "rmap/tables/unseen_bounds.h"

namespace countrace::rmap {

void BuildCpus(const TableInput& input, const UnseenBounds& bounds,
               Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_CPU_ROWS_H_
