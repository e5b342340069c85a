// Makes a finished trace from a running recording, which continues.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_
#define COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// While it lives, a flight recording overwrites nothing in the streams of
// `trace`. For a snapshot whose tables end with dumps of the recorder: newer
// records could overwrite these before they are copied, or what other streams
// have from before. Of many streams 512 are kept, those of CPUs first.
class KeptStreams {
 public:
  explicit KeptStreams(const std::string& trace);
  void Release() { locks_.clear(); }

 private:
  std::vector<base::ScopedFd> locks_;
};

struct SnapshotContent {
  std::vector<TriggerFiring> reasons;  // the triggers that caused it
  // TraceInfo::snapshot_ns: the time before the recorder's dumps for it.
  std::uint64_t dumped_ns = 0;
  // Released as soon as the streams are copied; may be null.
  KeptStreams* kept = nullptr;
};

// Copies the streams of the recording in `from` to the new directory `to` and
// finishes the copy. It holds all records committed before the call, and per
// stream some of those stored during it, which are behind the tables' end.
// Works in each mode. The recording is not changed; a flight recording
// overwrites nothing in a stream while it is copied. Any process that may read
// the recording may call it. Returns: ALREADY_EXISTS `to`; NOT_FOUND,
// INVALID_ARGUMENT `from` is no trace; FAILED_PRECONDITION it is finished;
// RESOURCE_EXHAUSTED.
absl::StatusOr<FinishResult> SnapshotTrace(const std::string& from,
                                           const std::string& to,
                                           const SnapshotContent& content = {});

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_TRACE_SNAPSHOT_H_
