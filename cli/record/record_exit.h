// How a verb ends that recorded a command.
#ifndef COUNTRACE_CLI_RECORD_RECORD_EXIT_H_
#define COUNTRACE_CLI_RECORD_RECORD_EXIT_H_

#include <string_view>

#include "absl/status/status.h"

namespace countrace::cli {

// The exit status that a shell gives a command with this wait() status.
int CommandExitStatus(int wait_status);

// Prints why the recording of `verb` failed. Returns: the exit status; if a
// command could not be run, the one that a shell returns.
int RecordFailure(std::string_view verb, const absl::Status& status);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RECORD_RECORD_EXIT_H_
