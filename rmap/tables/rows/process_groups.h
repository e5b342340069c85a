// Rows of processes of one name, user or cgroup, added up.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_PROCESS_GROUPS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_PROCESS_GROUPS_H_

#include <string>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// The value of a field of Report::processes_by.
const std::string& GroupOf(const ProcessRow& process, const std::string& field);

// One row for each value of `field`, most on-CPU time first. A value that one
// process has keeps its row, with its pid; what several differ in is empty.
std::vector<ProcessRow> ProcessesBy(const std::string& field,
                                    const std::vector<ProcessRow>& processes);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_PROCESS_GROUPS_H_
