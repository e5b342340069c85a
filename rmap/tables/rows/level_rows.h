// Rows of levels: `report --by level`.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_LEVEL_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_LEVEL_ROWS_H_

#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// A row for each level and owner, the longest up first. Their limits also hold
// what the rows of the same threads may lack or have too much. Requires: rows
// of threads and processes.
void BuildLevels(const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_LEVEL_ROWS_H_
