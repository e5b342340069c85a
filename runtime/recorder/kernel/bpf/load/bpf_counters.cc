#include "runtime/recorder/kernel/bpf/load/bpf_counters.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/kernel/bpf/load/bpf_error.h"

namespace countrace::runtime {
namespace {

bool IsPlain(const EventSpec& event) {
  return event.type == PERF_TYPE_SOFTWARE && !event.exclude_user &&
         !event.exclude_kernel;
}

}  // namespace

// How a perf event is opened.
struct BpfCounters::EventRole {
  int leader = -1;
  bool pinned = false, disabled = false;
};

countrace_counter_source SourceOf(const EventSpec& event, bool fault_records) {
  if (event.is_hardware()) return COUNTRACE_SOURCE_PMU;
  if (event.is_exec_runtime()) return COUNTRACE_SOURCE_EXEC_RUNTIME;
  if (!IsPlain(event)) return COUNTRACE_SOURCE_PERF;
  switch (event.config) {
    case PERF_COUNT_SW_CPU_CLOCK:
    case PERF_COUNT_SW_TASK_CLOCK:
      return COUNTRACE_SOURCE_CLOCK;
    case PERF_COUNT_SW_CONTEXT_SWITCHES:
      return COUNTRACE_SOURCE_SWITCHES;
    case PERF_COUNT_SW_PAGE_FAULTS:
      return fault_records ? COUNTRACE_SOURCE_FAULTS : COUNTRACE_SOURCE_PERF;
    default:
      return COUNTRACE_SOURCE_PERF;
  }
}

absl::StatusOr<BpfCounters> BpfCounters::Open(const BpfProgramOptions& options,
                                              int map) {
  BpfCounters counters;
  const std::size_t slots = options.cpus.size();
  counters.map_ = map;
  counters.cpus_ = options.cpus;
  counters.sets_ = static_cast<std::uint32_t>(options.choice.set_sizes.size());
  counters.present_.resize(slots);
  counters.always_leaders_.assign(slots, -1);
  counters.set_leaders_.assign(slots * counters.sets_, -1);
  counters.set_rotations_.resize(slots * counters.sets_);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    absl::Status status = counters.OpenAlwaysOn(options, slot);
    if (status.ok()) status = counters.OpenSets(options.choice, slot);
    if (!status.ok()) return status;
  }
  return counters;
}

absl::Status BpfCounters::OpenAlwaysOn(const BpfProgramOptions& options,
                                       std::size_t slot) {
  const std::vector<EventSpec>& events = options.choice.events;
  const std::size_t count =
      options.choice.sets(/*running_slot=*/true).always_on();
  int& leader = always_leaders_[slot];  // of the PMU's group
  for (std::size_t i = 0; i < count; ++i) {
    if (!IsRead(SourceOf(events[i], options.fault_records))) {
      present_[slot] |= 1u << i;
      continue;
    }
    const bool hardware = events[i].is_hardware();
    int fd = -1;
    const absl::Status status = OpenEvent(
        events[i], i, slot,
        {.leader = hardware ? leader : -1, .pinned = hardware && leader < 0},
        fd);
    if (!status.ok()) return status;
    if (fd < 0) continue;
    if (hardware && leader < 0) leader = fd;
    present_[slot] |= 1u << i;
  }
  return absl::OkStatus();
}

// Each set is a pinned group; the first one is on.
absl::Status BpfCounters::OpenSets(const EventChoice& choice,
                                   std::size_t slot) {
  const logformat::EventSets sets = choice.sets(/*running_slot=*/true);
  for (std::uint32_t set = 0; set < sets_; ++set) {
    int& leader = set_leaders_[slot * sets_ + set];
    for (std::size_t i = 0; i < sets.sizes[set]; ++i) {
      const std::size_t event = sets.first_event(set) + i;
      const bool first = leader < 0;
      int fd = -1;
      const absl::Status status = OpenEvent(
          choice.events[event], event, slot,
          {.leader = leader, .pinned = first, .disabled = first && set != 0},
          fd);
      if (!status.ok()) return status;
      if (first) leader = fd;
    }
  }
  return absl::OkStatus();
}

absl::Status BpfCounters::OpenEvent(const EventSpec& event, std::size_t index,
                                    std::size_t slot, const EventRole& role,
                                    int& opened) {
  const std::uint32_t cpu = cpus_[slot];
  perf_event_attr attr = ToPerfAttr(event);
  attr.size = sizeof(attr);
  // Pinned: an event that is multiplexed would miss counts silently.
  attr.pinned = role.pinned ? 1 : 0;
  attr.disabled = role.disabled ? 1 : 0;
  attr.read_format =
      PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  base::ScopedFd fd(
      OpenPerfEvent(event, attr, -1, static_cast<int>(cpu), role.leader));
  if (!fd.is_open()) {  // absent on this CPU
    if (event.IsOn(cpu)) missing_.push_back({cpu, event.name, errno});
    return absl::OkStatus();
  }
  const auto key = static_cast<std::uint32_t>(index * cpus_.size() + slot);
  const int value = fd.get();
  if (bpf_map_update_elem(map_, &key, &value, BPF_ANY) != 0) {
    return BpfError(errno, "Cannot pass " + event.name + " to BPF");
  }
  opened = fd.get();
  events_.push_back(std::move(fd));
  return absl::OkStatus();
}

absl::Status BpfCounters::CountSet(std::size_t slot, std::uint32_t from,
                                   std::uint32_t to) {
  const int old_leader = set_leaders_[slot * sets_ + from];
  const int new_leader = set_leaders_[slot * sets_ + to];
  if (old_leader >= 0) ioctl(old_leader, PERF_EVENT_IOC_DISABLE, 0);
  if (new_leader >= 0 && ioctl(new_leader, PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return base::ErrnoStatus(
        errno,
        absl::StrFormat("Cannot enable event set %d: cpu=%d", to, cpus_[slot]));
  }
  return absl::OkStatus();
}

void BpfCounters::EndRotation(std::size_t slot, std::uint32_t set) {
  SetRotations& taken = set_rotations_[slot * sets_ + set];
  const int leader = set_leaders_[slot * sets_ + set];
  ++taken.rotations;
  // A pinned event without a counter: read() returns end of file.
  std::uint64_t values[3] = {};
  if (leader < 0 || read(leader, values, sizeof(values)) == 0 ||
      values[2] == 0) {
    ++taken.refused;
  }
}

void BpfCounters::Retry(std::size_t slot) {
  const int leader = always_leaders_[slot];
  std::uint64_t values[3] = {};
  if (leader < 0 || read(leader, values, sizeof(values)) != 0) return;
  // A pinned group that got no counters stays off until it is enabled again.
  ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
}

}  // namespace countrace::runtime
