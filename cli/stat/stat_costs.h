// `countrace stat --cost`: the table of costs, and counts that are already
// there.
#ifndef COUNTRACE_CLI_STAT_STAT_COSTS_H_
#define COUNTRACE_CLI_STAT_STAT_COSTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/program/verb_parser.h"
#include "cli/stat/stat_command_line.h"
#include "rmap/stat/cost_table.h"

namespace countrace::cli {

// A table that comes with countrace, or else a file. Errors: INVALID_ARGUMENT
// what is wrong in it; those of reading it.
absl::StatusOr<rmap::CostTable> OpenCostTable(const std::string& name);

// --counts FILE: prints its costs, or lists it. Returns: the exit status.
int StatOfCounts(const VerbParser& parser, const StatCommandLine& line);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_COSTS_H_
