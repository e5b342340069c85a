// Rows of hooks: how often each was hit.
#ifndef COUNTRACE_RMAP_TABLES_HOOK_ROWS_H_
#define COUNTRACE_RMAP_TABLES_HOOK_ROWS_H_

#include "rmap/tables/table_input.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

void BuildHooks(const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_HOOK_ROWS_H_
