// The recorder behind `countrace record`: creates the trace directory, starts
// the command with the runtime library preloaded, records the kernel side, and
// finishes the trace, also after an error.
#ifndef COUNTRACE_RUNTIME_RECORDER_RECORD_H_
#define COUNTRACE_RUNTIME_RECORDER_RECORD_H_

#include "absl/status/statusor.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::runtime {

// Blocks until the recording is finished. SIGINT and SIGTERM stop it and still
// finish the trace; a second signal ends the wait for the command. Returns:
// ALREADY_EXISTS output exists and !force; INVALID_ARGUMENT unknown event
// (message names it and `countrace list events`); PERMISSION_DENIED system_wide
// or pids without privilege (message names capability and sysctl); NOT_FOUND
// command not found, or one of pids is no process; FAILED_PRECONDITION the
// output exists and is no trace, or is being recorded; RESOURCE_EXHAUSTED disk.
absl::StatusOr<RecordResult> Record(const RecordOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_RECORD_H_
