// Rows of page faults: `report --by fault`.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_FAULT_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_FAULT_ROWS_H_

#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// A row for each kind and range of each process, most faults first.
void BuildFaults(const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_FAULT_ROWS_H_
