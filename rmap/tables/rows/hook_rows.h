// Rows of hooks: how often each was hit.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_HOOK_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_HOOK_ROWS_H_

#include "rmap/result/tables.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

void BuildHooks(const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_HOOK_ROWS_H_
