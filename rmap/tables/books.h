// The books: to which account everything counted went.
#ifndef COUNTRACE_RMAP_TABLES_BOOKS_H_
#define COUNTRACE_RMAP_TABLES_BOOKS_H_

#include <vector>

#include "rmap/tables/table_input.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

// Requires: every other table but hooks and wakers. `processes`: of
// BuildProcesses().
void BuildBooks(const std::vector<ProcessRow>& processes,
                const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_BOOKS_H_
