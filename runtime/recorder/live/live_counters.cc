#include "runtime/recorder/live/live_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/descriptor_limit.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {
namespace {

// Scans of the threads of processes that start threads all the time.
constexpr int kScans = 20;

// Beside those of the counters.
constexpr std::uint64_t kOtherDescriptors = 64;

std::set<std::int32_t> ThreadsOf(const std::vector<std::int32_t>& pids) {
  std::set<std::int32_t> tids;
  for (const std::int32_t pid : pids) {
    for (const ProcessThread& thread : ScanThreadsOf(pid)) {
      tids.insert(thread.tid);
    }
  }
  return tids;
}

// OK: the kernel refuses this event alone.
absl::Status OpenFailure(const EventSpec& event, int error) {
  const std::string message = absl::StrFormat("Cannot count %s: %s", event.name,
                                              ExplainOpenError(error));
  switch (error) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status LiveCounters::Open(const std::vector<EventSpec>& events, int tid,
                                int cpu, bool at_exec, int cgroup) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    perf_event_attr attr = ToPerfAttr(events[i]);
    attr.read_format =
        PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.inherit = tid >= 0;
    attr.disabled = at_exec;
    attr.enable_on_exec = at_exec;
    base::ScopedFd fd(cgroup < 0 ? OpenPerfEvent(events[i], attr, tid, cpu, -1)
                                 : OpenPerfEvent(events[i], attr, cgroup, cpu,
                                                 -1, PERF_FLAG_PID_CGROUP));
    if (!fd.is_open()) {
      // Ended since the scan.
      if (errno == ESRCH) return absl::OkStatus();
      errors_[i] = errno;
      absl::Status failure = OpenFailure(events[i], errors_[i]);
      if (!failure.ok()) return failure;
      continue;
    }
    by_event_[i].push_back(std::move(fd));
  }
  return absl::OkStatus();
}

absl::StatusOr<LiveCounters> LiveCounters::OfCommand(
    const std::vector<EventSpec>& events, pid_t pid) {
  LiveCounters counters(events.size());
  RaiseDescriptorLimit(kOtherDescriptors + events.size());
  const absl::Status status = counters.Open(events, pid, -1, true);
  if (!status.ok()) return status;
  return counters;
}

absl::StatusOr<LiveCounters> LiveCounters::OfProcesses(
    const std::vector<EventSpec>& events,
    const std::vector<std::int32_t>& pids) {
  for (const std::int32_t pid : pids) {
    if (!IsProcessAlive(pid)) {
      return absl::NotFoundError(
          absl::StrFormat("There is no process %d to count", pid));
    }
  }
  // A thread that starts meanwhile has the counters of its parent, or none: we
  // cannot tell, so begin again.
  for (int scan = 0; scan < kScans; ++scan) {
    const std::set<std::int32_t> tids = ThreadsOf(pids);
    LiveCounters counters(events.size());
    RaiseDescriptorLimit(kOtherDescriptors + tids.size() * events.size());
    for (const std::int32_t tid : tids) {
      const absl::Status status = counters.Open(events, tid, -1, false);
      if (!status.ok()) return status;
    }
    if (ThreadsOf(pids) == tids) return counters;
  }
  return absl::UnavailableError(absl::StrFormat(
      "The processes start threads all the time: tried to find them %d times",
      kScans));
}

absl::StatusOr<LiveCounters> LiveCounters::OfMachine(
    const std::vector<EventSpec>& events) {
  return OnAllCpus(events, -1);
}

absl::StatusOr<LiveCounters> LiveCounters::OfCgroup(
    const std::vector<EventSpec>& events, const std::string& directory) {
  const base::ScopedFd cgroup(
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup.is_open()) {
    return base::ErrnoStatus(errno, "Cannot count the cgroup " + directory);
  }
  return OnAllCpus(events, cgroup.get());
}

absl::StatusOr<LiveCounters> LiveCounters::OnAllCpus(
    const std::vector<EventSpec>& events, int cgroup) {
  const auto cpus = OnlineCpus();
  if (!cpus.ok()) return cpus.status();
  LiveCounters counters(events.size());
  RaiseDescriptorLimit(kOtherDescriptors + cpus->size() * events.size());
  for (const std::uint32_t cpu : *cpus) {
    const absl::Status status =
        counters.Open(events, -1, static_cast<int>(cpu), false, cgroup);
    if (!status.ok()) return status;
  }
  return counters;
}

absl::StatusOr<std::vector<LiveCount>> LiveCounters::Read() const {
  std::vector<LiveCount> counts;
  for (const std::vector<base::ScopedFd>& descriptors : by_event_) {
    LiveCount sum;
    for (const base::ScopedFd& fd : descriptors) {
      std::uint64_t words[3] = {};
      const ssize_t got = read(fd.get(), words, sizeof(words));
      if (got < 0) return base::ErrnoStatus(errno, "Cannot read a counter");
      // Nothing: a pinned event that lost its counter.
      if (got == 0) continue;
      sum.count += words[0];
      sum.enabled_ns += words[1];
      sum.running_ns += words[2];
    }
    counts.push_back(sum);
  }
  return counts;
}

}  // namespace countrace::runtime
