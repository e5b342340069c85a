#include "runtime/recorder/countable_events.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <numeric>

#include "absl/strings/str_format.h"
#include "runtime/recorder/event_list.h"
#include "runtime/recorder/scoped_fd.h"
#include "runtime/recorder/small_file.h"

namespace countrace::runtime {

bool IsHardware(const EventSpec& event) {
  return event.type != PERF_TYPE_SOFTWARE && event.type != PERF_TYPE_TRACEPOINT;
}

bool CountsPageFaults(const std::vector<EventSpec>& events) {
  return std::any_of(events.begin(), events.end(), [](const EventSpec& event) {
    return event.is_page_faults();
  });
}

FaultMode ModeOfFaults(const std::vector<EventSpec>& events) {
  FaultMode mode = {true, true};
  for (const EventSpec& event : events) {
    if (!event.is_page_faults()) continue;
    mode.exclude_user &= event.exclude_user;
    mode.exclude_kernel &= event.exclude_kernel;
  }
  return mode;
}

namespace {

// The events that open on at least one CPU. The others are named in `messages`.
absl::StatusOr<EventChoice> KeepAvailable(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus,
    std::vector<std::string>& messages) {
  const std::vector<EventSpec>& events = options.choice.events;
  std::vector<bool> keep(events.size(), false);
  for (std::size_t i = 0; i < events.size(); ++i) {
    perf_event_attr attr = ToPerfAttr(events[i]);
    attr.disabled = 1;
    int error = 0;
    for (const std::uint32_t cpu : cpus) {
      const ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
      if (fd.is_open()) {
        keep[i] = true;
        break;
      }
      error = errno;
    }
    if (keep[i]) continue;
    if (error == EACCES || error == EPERM) {
      return absl::PermissionDeniedError(
          absl::StrFormat("Cannot open perf event %s: %s", events[i].name,
                          ExplainOpenError(error)));
    }
    if (i < options.optional_events_from) {
      messages.push_back(absl::StrFormat(
          "%s is not counted: %s", events[i].name, ExplainOpenError(error)));
    }
  }
  return Keep(options.choice, keep);
}

// Indices of the events that are counted at the same time as set `set`, those
// always on first.
std::vector<std::size_t> CountedWith(const logformat::EventSets& sets,
                                     std::size_t set) {
  std::vector<std::size_t> indices(sets.always_on());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  if (!sets.rotates()) return indices;
  for (std::size_t i = 0; i < sets.sizes[set]; ++i) {
    indices.push_back(sets.first_event(set) + i);
  }
  return indices;
}

// Drops hardware events, last first, until a pinned group of them can be
// scheduled, with each event set: a PMU has few counters, and a group that does
// not fit counts nothing.
absl::StatusOr<EventChoice> FitIntoPmu(PerfCpuGroupOptions group,
                                       const EventChoice& choice,
                                       std::vector<std::string>& messages) {
  group.ring_bytes = 0;  // one page
  group.fault_records = false;
  const logformat::EventSets sets = choice.sets(true);
  std::vector<bool> keep(choice.events.size(), true);
  for (std::size_t set = 0; set < std::max<std::size_t>(sets.sizes.size(), 1);
       ++set) {
    for (;;) {
      group.choice = {};
      std::size_t last = choice.events.size();  // hardware event
      for (const std::size_t i : CountedWith(sets, set)) {
        if (!keep[i]) continue;
        group.choice.events.push_back(choice.events[i]);
        if (IsHardware(choice.events[i])) last = i;
      }
      if (last == choice.events.size()) break;
      absl::StatusOr<PerfCpuGroup> trial = PerfCpuGroup::Open(group);
      if (!trial.ok()) return trial.status();
      const absl::Status enabled = trial->Enable();
      if (!enabled.ok()) return enabled;
      const absl::StatusOr<GroupReading> reading = trial->Read();
      if (reading.ok() ||
          reading.status().code() != absl::StatusCode::kUnavailable) {
        break;
      }
      messages.push_back(absl::StrFormat(
          "%s is not counted: the PMU has no free counter for it beside the "
          "other events%s",
          choice.events[last].name,
          sets.rotates()
              ? absl::StrFormat(
                    " of set {%s} and those always on; choose smaller sets",
                    NamesOf(choice, set))
              : std::string("; choose fewer with -e, or sets that take turns: "
                            "-e '{a,b},{c,d}'")));
      keep[last] = false;
    }
  }
  return Keep(choice, keep);
}

}  // namespace

absl::StatusOr<EventChoice> CountableEvents(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus, PerfCpuGroupOptions group,
    std::vector<std::string>& messages) {
  auto events = KeepAvailable(options, cpus, messages);
  if (!events.ok()) return events.status();
  group.cpu = cpus.front();
  return FitIntoPmu(group, *events, messages);
}

}  // namespace countrace::runtime
