// A finished trace of what a recording holds now, while it goes on.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_
#define COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "logformat/repair/trace_finish.h"

namespace countrace::logformat {

// Copies the streams of the recording in `from` to the new directory `to` and
// finishes the copy. Records committed before the call are in it; of those that
// are being stored meanwhile each stream has some. Any mode. The recording is
// not touched; a flight recording overwrites nothing of a stream that is just
// being copied. `reasons`: the triggers it is taken for. Any process that may
// read the recording may call it. Returns: ALREADY_EXISTS `to`; NOT_FOUND,
// INVALID_ARGUMENT `from` is no trace; FAILED_PRECONDITION it is finished;
// RESOURCE_EXHAUSTED.
absl::StatusOr<FinishResult> SnapshotTrace(
    const std::string& from, const std::string& to,
    const std::vector<TriggerFiring>& reasons = {});

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_
