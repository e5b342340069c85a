// Counts interval by interval, at once, without a recording: behind `countrace
// stat --every`.
//
//   LiveOptions -> LiveCounters, read at each interval -> LiveOptions::interval
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_LIVE_COUNT_LIVE_H_
#define COUNTRACE_RUNTIME_RECORDER_LIVE_COUNT_LIVE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/live/live_counters.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::runtime {

struct LiveInterval {
  std::uint64_t begin_ns = 0, end_ns = 0;  // since the beginning
  std::vector<LiveCount> counts;           // in it, one for each event
};

struct LiveOptions {
  std::vector<EventSpec> events;
  // What is counted: the machine, else the cgroup of this directory, else these
  // processes, else the command. With one of the first three a command only
  // limits the time.
  bool machine = false;
  std::string cgroup;
  std::vector<std::int32_t> pids;
  std::vector<std::string> command;
  std::uint64_t every_ns = 1'000'000'000;
  std::uint64_t duration_ns = 0;  // 0: until the command ends or a signal
  // Called before `begun` for each event that the kernel refuses: its index and
  // the reason. Its counts stay 0. Empty: such an event is an error.
  std::function<void(std::size_t, const std::string&)> left_out;
  std::function<void()> begun;  // before the command starts; may be empty
  // At the end of each interval, also of the last one, which may be shorter.
  // False ends the counting.
  std::function<bool(const LiveInterval&)> interval;
};

struct LiveResult {
  LiveInterval all;  // the sums
  bool command_ran = false;
  int command_status = 0;  // wait(2) status
  std::optional<CommandUsage> command_usage;
};

// Blocks until it ends. Intervals follow each other without a gap; one that is
// late is longer, and the next one ends at its time. Signals as in Record().
// Returns: as LiveCounters and Command; INVALID_ARGUMENT: an event that the
// kernel refuses, or all of them.
absl::StatusOr<LiveResult> CountLive(const LiveOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LIVE_COUNT_LIVE_H_
