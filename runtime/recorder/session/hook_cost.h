// The cost of a record of a user hook on this machine. A short-lived child
// measures it with the runtime library itself, as a thread of a program, in a
// recording of its own that is deleted. So it perturbs no trace.
//
// Thread: one. Takes some milliseconds.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_HOOK_COST_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_HOOK_COST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

// Picoseconds a record: half of the time of an enter and its exit. Payload
// values cost more.
struct HookCost {
  // CPU time of all threads, over many records; includes the helper thread.
  std::uint32_t cpu_ps = 0;
  // In the thread of the hook: the median of many short runs.
  std::uint32_t record_ps = 0;       // without counters
  std::uint32_t dump_record_ps = 0;  // with counters; 0: the session has none
};

// `session`: the recording with the hooks (its events at hooks, sizes of
// sub-buffers, clock). `library`: path of libcountrace-runtime.so. Returns:
// errors of the system; UNAVAILABLE the child did not measure;
// PERMISSION_DENIED this program has file capabilities, and the environment
// chooses the library.
absl::StatusOr<HookCost> MeasureHookCost(
    const logformat::SessionControl& session, const std::string& library);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_HOOK_COST_H_
