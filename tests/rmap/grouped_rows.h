// Rows of processes as `--group-by` adds them up.
#ifndef COUNTRACE_TESTS_RMAP_GROUPED_ROWS_H_
#define COUNTRACE_TESTS_RMAP_GROUPED_ROWS_H_

#include <string>
#include <vector>

#include "rmap/where/row_groups.h"

namespace countrace::rmap {

inline std::vector<ProcessRow> ProcessesBy(const std::string& field,
                                           Report report) {
  where::SumRows(field, ReportBy::kProcess, report, nullptr);
  return report.processes;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_TESTS_RMAP_GROUPED_ROWS_H_
