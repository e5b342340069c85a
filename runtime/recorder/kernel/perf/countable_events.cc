#include "runtime/recorder/kernel/perf/countable_events.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/events/event_list.h"

namespace countrace::runtime {

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
      const base::ScopedFd fd(
          OpenPerfEvent(events[i], attr, -1, static_cast<int>(cpu), -1));
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
      const auto set = options.choice.sets(/*running_slot=*/true).SetOf(i);
      messages.push_back(
          absl::StrFormat("%s is not counted%s: errno=%d, %s", events[i].name,
                          set ? absl::StrFormat(", of event set {%s}",
                                                NamesOf(options.choice, *set))
                              : std::string(),
                          error, ExplainOpenError(error)));
    }
  }
  return Keep(options.choice, keep);
}

// "a, b are", "a is".
std::string Subject(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ") + (names.size() == 1 ? " is" : " are");
}

// Removes the hardware events that no group on `cpu` has counters for.
EventChoice FitIntoPmu(const EventChoice& choice, std::uint32_t cpu,
                       std::vector<std::string>& messages) {
  const TrialPlace place{.tid = -1, .cpu = static_cast<int>(cpu)};
  const logformat::EventSets sets = choice.sets(/*running_slot=*/true);
  std::vector<bool> keep(choice.events.size(), true);
  std::string in_rotation;
  for (std::size_t set = 0; set < std::max<std::size_t>(sets.sizes.size(), 1);
       ++set) {
    std::vector<std::size_t> indices;
    std::vector<EventSpec> together;
    for (const std::size_t i : CountedWith(sets, set)) {
      // Events that only other CPUs have are counted there.
      if (!keep[i] || TryAlone(choice.events[i], place) != 0) continue;
      indices.push_back(i);
      together.push_back(choice.events[i]);
    }
    const TrialResult result = TryTogether(together, place);
    if (result.counts) {
      const std::string differs = Disagreement(together, result.counts);
      if (!differs.empty()) {
        messages.push_back("{" + NamesOf(choice, set) + "}" + differs);
      }
      continue;
    }
    std::vector<bool> fits(indices.size(), false);
    for (const std::size_t i : FittingTogether(together, place)) fits[i] = true;
    std::vector<std::string> refused;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (fits[i]) continue;
      keep[indices[i]] = false;
      refused.push_back(together[i].name);
    }
    if (refused.empty()) continue;  // another user released the counters
    if (in_rotation.empty()) {
      in_rotation = absl::StrJoin(InRotation(choice, place), ",");
    }
    messages.push_back(absl::StrFormat(
        "%s not counted: %s; multiplexed sets (--rotate) would count: -e '%s'",
        Subject(refused), DescribeRefusal(choice, set, together, result, place),
        in_rotation));
  }
  return Keep(choice, keep);
}

}  // namespace

absl::StatusOr<EventChoice> CountableEvents(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus,
    std::vector<std::string>& messages) {
  auto events = KeepAvailable(options, cpus, messages);
  if (!events.ok()) return events.status();
  return FitIntoPmu(*events, cpus.front(), messages);
}

}  // namespace countrace::runtime
