// The books: the account of everything that was counted.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_BOOKS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_BOOKS_H_

#include <vector>

#include "rmap/result/tables.h"
#include "rmap/tables/input/table_input.h"

namespace countrace::rmap {

// Requires: all other tables except hooks and wakers. `processes`: from
// BuildProcesses().
void BuildBooks(const std::vector<ProcessRow>& processes,
                const TableInput& input, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_BOOKS_H_
