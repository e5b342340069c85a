// Makes tables from the final state of reconstruction: rows, order, names,
// books.
//
// Runs once, after the last record. Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_TABLE_BUILDER_H_
#define COUNTRACE_RMAP_TABLES_ROWS_TABLE_BUILDER_H_

#include "rmap/result/tables.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// Fills in events, all rows and the books of `report`.
void BuildTables(const TableSources& sources, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_TABLE_BUILDER_H_
