// `report --by function --group-by thread`: rows of a table of samples for each
// thread, process, or all processes of one name, user or cgroup.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_GROUPS_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/program/row_table.h"
#include "rmap/result/tables.h"

namespace countrace::cli {

struct SampleGroups {
  std::vector<std::string> columns;  // "comm", "pid", "tid"; none: no group
  std::vector<std::uint32_t> of_context;  // rmap::SampleChoice::groups
  std::vector<std::vector<Cell>> names;   // by group: a cell for each column
};

// `by`: thread, process, comm, user, cgroup; empty: no groups.
// Requires: report.samples.
SampleGroups GroupSamples(const rmap::Report& report, const std::string& by);

// Which contexts are of processes, and of threads, whose name or number
// matches. Empty: all, as neither glob is given.
std::vector<bool> ChosenContexts(const rmap::Report& report,
                                 const std::string& process,
                                 const std::string& thread);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_GROUPS_H_
