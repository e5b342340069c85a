// `countrace doctor` for events: the sets that can be counted at once.
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/vocabulary_event.h"
#include "runtime/recorder/system/cpu_list.h"

namespace countrace::runtime {
namespace {

struct Place {
  TrialPlace trial;
  std::string text;
};

// The model in use, or the widest scope that this user may count.
Place WhereToTry() {
  if (const logformat::Vocabulary* const model = ModelInUse()) {
    return {{}, model->title + ", by its file alone"};
  }
  const auto cpus = OnlineCpus();
  const int cpu =
      cpus.ok() && !cpus->empty() ? static_cast<int>(cpus->front()) : 0;
  const TrialPlace on_cpu = {.tid = -1, .cpu = cpu};
  const auto clock = ParseEvent("cpu-clock");
  const auto may = [&clock](const TrialPlace& place) {
    return clock.ok() && TryAlone(*clock, place) == 0;
  };
  if (may(on_cpu)) return {on_cpu, absl::StrFormat("CPU %d", cpu)};
  const TrialPlace own = {.tid = 0, .cpu = -1};
  if (may(own)) return {own, "this thread"};
  return {{.tid = 0, .cpu = -1, .exclude_kernel = true},
          "this thread, in user mode"};
}

// Whether each of `events` opens. The others are named in `absent`, grouped by
// errno.
std::vector<bool> Opening(const std::vector<EventSpec>& events,
                          const TrialPlace& place, std::string& absent) {
  std::vector<bool> opening(events.size());
  std::vector<std::pair<int, std::vector<std::string>>> refused;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const int error = TryAlone(events[i], place);
    opening[i] = error == 0;
    if (error == 0) continue;
    if (refused.empty() || refused.back().first != error) {
      refused.push_back({error, {}});
    }
    refused.back().second.push_back(events[i].name);
  }
  for (const auto& [error, names] : refused) {
    absl::StrAppendFormat(
        &absent, "%s%s: errno=%d, %s", absent.empty() ? "" : "; ",
        absl::StrJoin(names, ", "), error, ExplainOpenError(error));
  }
  return opening;
}

std::vector<EventSpec> Select(const std::vector<EventSpec>& events,
                              const std::vector<std::size_t>& indices) {
  std::vector<EventSpec> selected;
  for (const std::size_t i : indices) selected.push_back(events[i]);
  return selected;
}

// Item for set `set` of `choice`, or for all its events if it has no sets.
Capability ProbeSet(const EventChoice& choice, std::size_t set,
                    const Place& place) {
  const logformat::EventSets sets = choice.sets(/*running_slot=*/true);
  Capability item{.name = sets.rotates() ? absl::StrFormat("event-set-%d", set)
                                         : std::string("events")};
  const std::vector<EventSpec> events =
      Select(choice.events, CountedWith(sets, set));
  std::string absent;
  const std::vector<bool> opening = Opening(events, place.trial, absent);
  std::vector<EventSpec> together;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (opening[i]) together.push_back(events[i]);
  }
  const TrialResult result = TryTogether(together, place.trial);
  std::vector<std::string> names, always_on;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool always = sets.rotates() && i < sets.always_on();
    (always ? always_on : names).push_back(events[i].name);
  }
  const std::string all = absl::StrFormat("{%s}%s%s", absl::StrJoin(names, ","),
                                          always_on.empty() ? "" : " beside ",
                                          absl::StrJoin(always_on, ","));
  if (absent.empty() && result.counts) {
    item.detail =
        absl::StrFormat("%s can be counted at once: tried on %s%s", all,
                        place.text, Disagreement(together, result.counts));
    return item;
  }
  item.status = CapabilityStatus::kMissing;
  if (!result.counts) {
    item.detail = DescribeRefusal(choice, set, together, result, place.trial);
    item.fix = absl::StrFormat(
        "countrace record -e '%s'   # multiplexed sets: --rotate",
        absl::StrJoin(InRotation(choice, place.trial), ","));
  }
  if (!absent.empty()) {
    absl::StrAppendFormat(&item.detail, "%s%s: %s",
                          item.detail.empty() ? "" : "; ", all, absent);
  }
  item.effect =
      "events without a counter are left out and named at record time, never "
      "counted as 0";
  return item;
}

// Groups that people often count together. Each is tried separately.
constexpr const char* kUsualGroups[] = {
    "cycles,instructions",
    "cycles,instructions,branches,branch-misses",
    "cycles,instructions,cache-references,cache-misses",
    "cycles,instructions,stalled-cycles-frontend,stalled-cycles-backend",
    "cycles,instructions,L1-dcache-loads,L1-dcache-load-misses",
    "cycles,instructions,dTLB-load-misses,iTLB-load-misses",
    "cycles,instructions,branches,branch-misses,cache-references,cache-misses",
};

}  // namespace

std::vector<Capability> ProbeEventSets(const EventChoice& choice) {
  const Place place = WhereToTry();
  std::vector<Capability> items;
  for (std::size_t set = 0; set == 0 || set < choice.set_sizes.size(); ++set) {
    items.push_back(ProbeSet(choice, set, place));
  }
  return items;
}

Capability ProbeEventGroups() {
  const Place place = WhereToTry();
  Capability item{.name = "event-groups"};
  const std::size_t free_counters = CountFreeCounters(place.trial);
  if (free_counters == 0) {
    item.status = CapabilityStatus::kMissing;
    item.detail = "no PMU gives a counter: no group of hardware events";
    item.effect =
        "hardware events of -e are left out and named, never counted as 0";
    return item;
  }
  std::vector<std::string> counted, refused;
  for (const char* list : kUsualGroups) {
    const auto choice = ParseEventChoice(SplitEvents({list}), true);
    if (!choice.ok()) continue;
    std::string absent;
    Opening(choice->events, place.trial, absent);
    // `countrace list events` reports the events that this machine lacks.
    if (!absent.empty()) continue;
    const TrialResult result = TryTogether(choice->events, place.trial);
    if (result.counts) {
      counted.push_back(absl::StrFormat("{%s}", list));
      continue;
    }
    refused.push_back(
        DescribeRefusal(*choice, 0, choice->events, result, place.trial));
    if (item.fix.empty()) {
      item.fix =
          absl::StrFormat("countrace record -e '%s'   # multiplexed sets",
                          absl::StrJoin(InRotation(*choice, place.trial), ","));
    }
  }
  item.detail = absl::StrFormat(
      "counters free=%d on %s; counted at once: %s", free_counters, place.text,
      counted.empty() ? std::string("none") : absl::StrJoin(counted, " "));
  if (refused.empty()) return item;
  item.status = CapabilityStatus::kLimited;
  absl::StrAppendFormat(&item.detail, "; %s", absl::StrJoin(refused, "; "));
  item.effect = "these events must be multiplexed, or some are left out";
  return item;
}

}  // namespace countrace::runtime
