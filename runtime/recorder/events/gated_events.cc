#include "runtime/recorder/events/gated_events.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

// Limits `event` to one mode. Names of PMU events end in a slash: perf takes
// `/:u`.
absl::Status Gate(bool user, EventSpec& event) {
  const char* const mode = user ? "user" : "kernel";
  if (!IsSplitByMode(event)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s cannot be split into user and kernel mode, and --count %s needs "
        "one: leave the event out, or count both modes. On-CPU time is in "
        "every recording",
        event.name, mode));
  }
  if (user ? event.exclude_user : event.exclude_kernel) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s counts %s mode only, which --count %s excludes: "
                        "remove one of the two",
                        event.name, user ? "kernel" : "user", mode));
  }
  if (user ? event.exclude_kernel : event.exclude_user) return absl::OkStatus();
  event.exclude_user = !user;
  event.exclude_kernel = user;
  event.name += user ? ":u" : ":k";
  if (event.name.size() >= sizeof(logformat::SessionEvent::name)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "The name of event %s is too long for its mode: bytes=%d, at most %d",
        event.name, event.name.size(),
        sizeof(logformat::SessionEvent::name) - 1));
  }
  return absl::OkStatus();
}

bool CountTheSame(const EventSpec& a, const EventSpec& b) {
  return a.type == b.type && a.config == b.config && a.config1 == b.config1 &&
         a.config2 == b.config2 && a.exclude_user == b.exclude_user &&
         a.exclude_kernel == b.exclude_kernel;
}

}  // namespace

bool IsSplitByMode(const EventSpec& event) {
  if (event.type == PERF_TYPE_TRACEPOINT) return false;
  if (event.type != PERF_TYPE_SOFTWARE) return true;
  switch (event.config) {
    case PERF_COUNT_SW_PAGE_FAULTS:
    case PERF_COUNT_SW_PAGE_FAULTS_MIN:
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
    case PERF_COUNT_SW_ALIGNMENT_FAULTS:
    case PERF_COUNT_SW_EMULATION_FAULTS:
      return true;
    default:
      return false;
  }
}

absl::Status GateEvents(const logformat::Gating& gating, bool chosen,
                        std::vector<EventSpec>& events,
                        std::size_t& optional_from) {
  if (gating.nothing()) events.clear();
  if (gating.nothing() || gating.every_mode()) return absl::OkStatus();
  std::vector<EventSpec> gated;
  std::size_t optional = events.size();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i == optional_from) optional = gated.size();
    EventSpec event = events[i];
    if (!chosen && !IsSplitByMode(event)) continue;
    const absl::Status status = Gate(gating.user, event);
    if (!status.ok()) return status;
    for (const EventSpec& other : gated) {
      if (!CountTheSame(other, event)) continue;
      return absl::InvalidArgumentError(absl::StrFormat(
          "With --count %s, %s is in the event set twice: give it once",
          logformat::GatingText(gating), event.name));
    }
    gated.push_back(std::move(event));
  }
  if (optional_from < events.size()) optional_from = optional;
  events = std::move(gated);
  return absl::OkStatus();
}

}  // namespace countrace::runtime
