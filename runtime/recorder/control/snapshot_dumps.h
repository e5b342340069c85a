// The request of a program that takes a snapshot: the recorder dumps the
// counters of every CPU, where the tables of the snapshot then end.
#ifndef COUNTRACE_RUNTIME_RECORDER_CONTROL_SNAPSHOT_DUMPS_H_
#define COUNTRACE_RUNTIME_RECORDER_CONTROL_SNAPSHOT_DUMPS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::runtime {

// Sends the request to the recorder of `trace` and waits for the dumps, 1 s at
// most. Returns SnapshotContent::dumped_ns; 0: without kernel records there are
// no dumps. Errors: NOT_FOUND nothing is recorded there; PERMISSION_DENIED
// `.session` cannot be written; UNAVAILABLE no answer (a stopped recorder).
absl::StatusOr<std::uint64_t> RequestSnapshotDumps(const std::string& trace);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_CONTROL_SNAPSHOT_DUMPS_H_
