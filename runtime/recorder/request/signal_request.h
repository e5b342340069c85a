// `record --signal-every N[:EVENT][=SIGNAL]`: which signal a thread gets at
// every N events.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_REQUEST_SIGNAL_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_REQUEST_SIGNAL_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

struct SignalRequest {
  EventSpec event;
  std::uint64_t period = 0;  // events of one thread
  int signal = 0;

  std::string SignalName() const;  // "SIGPROF"
};

// "1000:page-faults", "1000:page-faults=SIGUSR1", "10000000"; without an event
// cpu-clock, whose period is in ns, without a signal SIGPROF. Returns:
// INVALID_ARGUMENT another form, a number out of range, a signal that no
// program can handle or that is not known, an unknown event, a tracepoint.
absl::StatusOr<SignalRequest> ParseSignalRequest(std::string_view text);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_REQUEST_SIGNAL_REQUEST_H_
