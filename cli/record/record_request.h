// Converts the command line of `record` to the recorder's options.
#ifndef COUNTRACE_CLI_RECORD_RECORD_REQUEST_H_
#define COUNTRACE_CLI_RECORD_RECORD_REQUEST_H_

#include "absl/status/statusor.h"
#include "cli/program/verb_parser.h"
#include "cli/record/record_command_line.h"
#include "runtime/recorder/record.h"

namespace countrace::cli {

// Fills in all but the runtime library and the callbacks. Errors:
// INVALID_ARGUMENT for wrong usage.
absl::StatusOr<runtime::RecordOptions> MakeRecordRequest(
    const VerbParser& parser, const RecordCommandLine& line);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_RECORD_RECORD_REQUEST_H_
