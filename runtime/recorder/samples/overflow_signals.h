// A signal to a thread every N events that it causes, with its
// children and what they exec.
//
// A BPF program sends it, in the thread itself, where the event overflows: of a
// perf event's own notification (F_SETSIG) the children would get none, and
// perf's synchronous SIGTRAP ends at an exec.
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_OVERFLOW_SIGNALS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_OVERFLOW_SIGNALS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/request/signal_request.h"

namespace countrace::runtime {

class OverflowSignals {
 public:
  virtual ~OverflowSignals() = default;

  // Counts in these threads. `from_exec`: from their next exec on. Threads that
  // have ended are left out. Returns: NOT_FOUND all have; INVALID_ARGUMENT the
  // machine lacks the event.
  virtual absl::Status Begin(const std::vector<std::int32_t>& tids,
                             bool from_exec) = 0;
  virtual void End() = 0;
  // How many signals were sent, for the user. Behind End().
  virtual std::string Describe() const = 0;
};

// Returns: PERMISSION_DENIED; UNIMPLEMENTED without BPF.
absl::StatusOr<std::unique_ptr<OverflowSignals>> OpenOverflowSignals(
    const SignalRequest& request);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_OVERFLOW_SIGNALS_H_
