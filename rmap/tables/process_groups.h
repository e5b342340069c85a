// Rows of processes of one name, added up.
#ifndef COUNTRACE_RMAP_TABLES_PROCESS_GROUPS_H_
#define COUNTRACE_RMAP_TABLES_PROCESS_GROUPS_H_

#include <vector>

#include "rmap/tables/tables.h"

namespace countrace::rmap {

// One row for each name, most on-CPU time first. A name that one process has
// keeps its row, with its pid.
std::vector<ProcessRow> ProcessesByComm(
    const std::vector<ProcessRow>& processes);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_PROCESS_GROUPS_H_
