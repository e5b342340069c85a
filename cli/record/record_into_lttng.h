// `record --backend lttng`: an LTTng trace of the command.
#ifndef COUNTRACE_CLI_RECORD_RECORD_INTO_LTTNG_H_
#define COUNTRACE_CLI_RECORD_RECORD_INTO_LTTNG_H_

#include "cli/program/verb_parser.h"
#include "cli/record/record_command_line.h"

namespace countrace::cli {

// Returns: the exit status of `record`.
int RecordIntoLttng(const VerbParser& parser, const RecordCommandLine& line);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RECORD_RECORD_INTO_LTTNG_H_
