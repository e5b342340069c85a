// Counters of perf events that are read while they count: of a command and all
// that it starts, of running processes, of a cgroup, or of the machine.
//
// Children inherit them: zeroed at their fork, added at their exit. Thread:
// one.
#ifndef COUNTRACE_RUNTIME_RECORDER_LIVE_LIVE_COUNTERS_H_
#define COUNTRACE_RUNTIME_RECORDER_LIVE_LIVE_COUNTERS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

struct LiveCount {
  std::uint64_t count = 0;
  // Time of the threads, or CPUs, in which it was to count, and did: less if
  // the kernel multiplexes, or if another user has the counters.
  std::uint64_t enabled_ns = 0, running_ns = 0;
};

class LiveCounters final {
 public:
  // Count from the exec of `pid` on, which has one thread.
  static absl::StatusOr<LiveCounters> OfCommand(
      const std::vector<EventSpec>& events, pid_t pid);
  // Count from now on, all threads of `pids`.
  static absl::StatusOr<LiveCounters> OfProcesses(
      const std::vector<EventSpec>& events,
      const std::vector<std::int32_t>& pids);
  static absl::StatusOr<LiveCounters> OfMachine(
      const std::vector<EventSpec>& events);
  // `directory`: of the cgroup, under the mount of its hierarchy. Cgroups below
  // it are in (perf_event_open(2), PERF_FLAG_PID_CGROUP).
  static absl::StatusOr<LiveCounters> OfCgroup(
      const std::vector<EventSpec>& events, const std::string& directory);
  // All may return: PERMISSION_DENIED with the remedy; NOT_FOUND a process or
  // cgroup is not there; RESOURCE_EXHAUSTED.

  // errno if the kernel refuses the event everywhere: some PMUs count CPUs, but
  // no processes. 0: it counts.
  int Refusal(std::size_t event) const {
    return by_event_[event].empty() ? errors_[event] : 0;
  }

  // Since they were opened; one for each event. Errors: of read(2).
  absl::StatusOr<std::vector<LiveCount>> Read() const;

 private:
  explicit LiveCounters(std::size_t events)
      : by_event_(events), errors_(events) {}
  // `cgroup`: a descriptor of its directory instead of `tid`; -1: none.
  absl::Status Open(const std::vector<EventSpec>& events, int tid, int cpu,
                    bool at_exec, int cgroup = -1);
  static absl::StatusOr<LiveCounters> OnAllCpus(
      const std::vector<EventSpec>& events, int cgroup);

  std::vector<std::vector<base::ScopedFd>> by_event_;
  std::vector<int> errors_;  // of the event's last refusal
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_LIVE_LIVE_COUNTERS_H_
