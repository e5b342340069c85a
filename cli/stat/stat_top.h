// `countrace stat --top`: the tables of the latest interval, full screen.
#ifndef COUNTRACE_CLI_STAT_STAT_TOP_H_
#define COUNTRACE_CLI_STAT_STAT_TOP_H_

#include "cli/program/verb_parser.h"
#include "cli/stat/stat_command_line.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::cli {

// Errors of usage are printed with `parser`. `record`: StatRecording().
// Returns: the exit status.
int StatTop(const VerbParser& parser, const StatCommandLine& line,
            runtime::RecordOptions record);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_TOP_H_
