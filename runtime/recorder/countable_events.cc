#include "runtime/recorder/countable_events.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

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
absl::StatusOr<std::vector<EventSpec>> KeepAvailable(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus,
    std::vector<std::string>& messages) {
  std::vector<EventSpec> kept;
  for (std::size_t i = 0; i < options.events.size(); ++i) {
    perf_event_attr attr = ToPerfAttr(options.events[i]);
    attr.disabled = 1;
    int error = 0;
    bool opens = false;
    for (const std::uint32_t cpu : cpus) {
      const ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
      if (fd.is_open()) {
        opens = true;
        break;
      }
      error = errno;
    }
    if (opens) {
      kept.push_back(options.events[i]);
      continue;
    }
    if (error == EACCES || error == EPERM) {
      return absl::PermissionDeniedError(
          absl::StrFormat("Cannot open perf event %s: %s",
                          options.events[i].name, ExplainOpenError(error)));
    }
    if (i < options.optional_events_from) {
      messages.push_back(absl::StrFormat("%s is not counted: %s",
                                         options.events[i].name,
                                         ExplainOpenError(error)));
    }
  }
  return kept;
}

// Drops hardware events, last first, until a pinned group of them can be
// scheduled: a PMU has few counters, and a group that does not fit counts
// nothing.
absl::Status FitIntoPmu(PerfCpuGroupOptions group,
                        std::vector<EventSpec>& events,
                        std::vector<std::string>& messages) {
  group.ring_bytes = 0;  // one page
  group.fault_records = false;
  while (std::any_of(events.begin(), events.end(), IsHardware)) {
    group.events = events;
    absl::StatusOr<PerfCpuGroup> trial = PerfCpuGroup::Open(group);
    if (!trial.ok()) return trial.status();
    const absl::Status enabled = trial->Enable();
    if (!enabled.ok()) return enabled;
    const absl::StatusOr<GroupReading> reading = trial->Read();
    if (reading.ok() ||
        reading.status().code() != absl::StatusCode::kUnavailable) {
      return absl::OkStatus();
    }
    const auto last = std::find_if(events.rbegin(), events.rend(), IsHardware);
    messages.push_back(absl::StrFormat(
        "%s is not counted: the PMU has no free counter for it beside the "
        "other events; choose fewer with -e",
        last->name));
    events.erase(std::next(last).base());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<EventSpec>> CountableEvents(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus, PerfCpuGroupOptions group,
    std::vector<std::string>& messages) {
  auto events = KeepAvailable(options, cpus, messages);
  if (!events.ok()) return events.status();
  group.cpu = cpus.front();
  const absl::Status fit = FitIntoPmu(group, *events, messages);
  if (!fit.ok()) return fit;
  return events;
}

}  // namespace countrace::runtime
