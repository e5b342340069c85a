#include "runtime/recorder/events/counter_trial.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/counter_sets.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/vocabulary_event.h"

namespace countrace::runtime {
namespace {

// More than any PMU has; bounds a trial where the kernel refuses nothing.
constexpr std::size_t kMostCounters = 64;

int Open(const EventSpec& event, const TrialPlace& place, int leader) {
  perf_event_attr attr = ToPerfAttr(event);
  attr.size = sizeof(attr);
  if (place.exclude_kernel) attr.exclude_kernel = 1;
  if (leader < 0) {
    // Events that are off do not count when the kernel checks whether a group
    // fits, so members are on. Pinned: refused at once instead of multiplexed.
    attr.disabled = 1;
    attr.pinned = 1;
  }
  attr.read_format =
      PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return OpenPerfEvent(event, attr, place.tid, place.cpu, leader);
}

std::vector<EventSpec> Select(const std::vector<EventSpec>& events,
                              const std::vector<std::size_t>& indices) {
  std::vector<EventSpec> selected;
  for (const std::size_t i : indices) selected.push_back(events[i]);
  return selected;
}

std::vector<std::string> Names(const std::vector<EventSpec>& events) {
  std::vector<std::string> names;
  for (const EventSpec& event : events) names.push_back(event.name);
  return names;
}

std::vector<std::string> HardwareNames(const std::vector<EventSpec>& events) {
  std::vector<std::string> names;
  for (const EventSpec& event : events) {
    if (event.is_hardware()) names.push_back(event.name);
  }
  return names;
}

bool CountTogether(std::vector<EventSpec> events, const EventSpec& another,
                   const TrialPlace& place) {
  events.push_back(another);
  return TryTogether(events, place).counts;
}

}  // namespace

int TryAlone(const EventSpec& event, const TrialPlace& place) {
  if (ModelInUse() != nullptr) return RowsHere(event.name).empty() ? ENOENT : 0;
  const base::ScopedFd fd(Open(event, place, -1));
  return fd.is_open() ? 0 : errno;
}

TrialResult TryTogether(const std::vector<EventSpec>& events,
                        const TrialPlace& place) {
  if (ModelInUse() != nullptr) {
    return {.counts = PredictTogether(HardwareNames(events)).value_or(false)};
  }
  std::vector<base::ScopedFd> group;
  TrialResult result;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].is_hardware()) continue;
    result.refused = i;
    base::ScopedFd fd(
        Open(events[i], place, group.empty() ? -1 : group[0].get()));
    if (!fd.is_open()) {
      result.error = errno;
      return result;
    }
    group.push_back(std::move(fd));
  }
  if (group.empty()) return {.counts = true};
  if (ioctl(group[0].get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0) {
    result.error = errno;
    return result;
  }
  // A pinned group without counters: read() returns end of file.
  std::array<std::uint64_t, 3> values{};  // count, time enabled, time running
  const ssize_t got =
      read(group[0].get(), values.data(), values.size() * sizeof(values[0]));
  if (got < 0) result.error = errno;
  result.counts = got > 0 && values[2] > 0;
  return result;
}

std::size_t CountFreeCounters(const TrialPlace& place) {
  if (const logformat::Vocabulary* const model = ModelInUse()) {
    std::set<std::uint32_t> counters;
    for (const auto& row : model->events) {
      counters.insert(row.counters.begin(), row.counters.end());
    }
    return counters.size();
  }
  std::vector<EventSpec> usual;
  for (const char* name :
       {"cycles", "instructions", "branches", "branch-misses",
        "cache-references", "cache-misses"}) {
    auto event = ParseEvent(name);
    if (event.ok()) usual.push_back(*std::move(event));
  }
  std::vector<EventSpec> group;
  for (bool added = true; added && group.size() < kMostCounters;) {
    added = false;
    for (const EventSpec& event : usual) {
      while (group.size() < kMostCounters &&
             CountTogether(group, event, place)) {
        group.push_back(event);
        added = true;
        // Each kind once before any twice: some counters work for one kind
        // only.
        if (group.size() <= usual.size()) break;
      }
    }
  }
  return group.size();
}

std::vector<std::size_t> FittingTogether(const std::vector<EventSpec>& events,
                                         const TrialPlace& place) {
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (CountTogether(Select(events, fitting), events[i], place)) {
      fitting.push_back(i);
    }
  }
  return fitting;
}

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

std::vector<std::string> InRotation(const EventChoice& choice,
                                    const TrialPlace& place) {
  const logformat::EventSets sets = choice.sets(/*running_slot=*/true);
  std::vector<EventSpec> always;
  std::vector<std::vector<EventSpec>> wanted(1);
  for (std::size_t i = 0; i < choice.events.size(); ++i) {
    const EventSpec& event = choice.events[i];
    if (const auto set = sets.SetOf(i)) {
      wanted.resize(*set + 1);
      wanted[*set].push_back(event);
    } else if (sets.rotates() || !event.is_hardware()) {
      if (CountTogether(always, event, place)) always.push_back(event);
    } else {
      wanted[0].push_back(event);
    }
  }
  std::vector<std::string> words = Names(always);
  for (const std::vector<EventSpec>& set : wanted) {
    EventIndices order(set.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&set](std::size_t a, std::size_t b) {
                       return ChoicesOf(RowsHere(set[a].name)) <
                              ChoicesOf(RowsHere(set[b].name));
                     });
    const Judge fits = [&](const EventIndices& some) {
      std::vector<EventSpec> group = always;
      for (const std::size_t i : some) group.push_back(set[i]);
      return TryTogether(group, place).counts;
    };
    for (const EventIndices& inside : FewestSets(order, fits)) {
      words.push_back("{" + absl::StrJoin(Names(Select(set, inside)), ",") +
                      "}");
    }
  }
  return words;
}

std::string Disagreement(const std::vector<EventSpec>& tried, bool counts) {
  const std::vector<std::string> names = HardwareNames(tried);
  if (names.empty() || PredictTogether(names).value_or(counts) == counts) {
    return {};
  }
  return counts ? "; their vocabulary says that they cannot be, but the kernel "
                  "counts them: the file is wrong"
                : "; their vocabulary says that they can be, and the kernel's "
                  "answer holds: counters are in use, or the file is wrong";
}

std::string DescribeRefusal(const EventChoice& choice, std::size_t set,
                            const std::vector<EventSpec>& tried,
                            const TrialResult& result,
                            const TrialPlace& place) {
  const std::size_t free_counters = CountFreeCounters(place);
  const logformat::EventSets sets = choice.sets(/*running_slot=*/true);
  const std::vector<std::string> names = HardwareNames(tried);
  const bool beside_others =
      sets.rotates() &&
      std::any_of(
          choice.events.begin(),
          choice.events.begin() + static_cast<std::ptrdiff_t>(sets.always_on()),
          [](const EventSpec& event) { return event.is_hardware(); });
  std::string text = absl::StrFormat(
      "{%s} cannot be counted at once%s: counters needed=%d free=%d (%s)",
      sets.rotates() ? NamesOf(choice, set) : absl::StrJoin(names, ","),
      beside_others ? " beside the events that are always on" : "",
      names.size(), free_counters,
      ModelInUse() != nullptr ? "by the model's file"
      : result.error == 0
          ? std::string("they open, but the PMU does not take them together")
          : absl::StrFormat("%s: errno=%d, %s", tried[result.refused].name,
                            result.error, std::strerror(result.error)));
  if (names.size() <= free_counters) {
    text +=
        "; each may have a counter, but not these together: they need the same "
        "one, or are of different PMUs";
  }
  EventIndices all(tried.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const EventIndices conflict =
      SmallestConflict(all, [&](const EventIndices& some) {
        return TryTogether(Select(tried, some), place).counts;
      });
  text += conflict.empty() ? "" : "; the smallest part that cannot:";
  for (const std::size_t i : conflict) {
    absl::StrAppendFormat(&text, "%s %s%s", i == conflict[0] ? "" : ",",
                          tried[i].name, DescribeRows(RowsHere(tried[i].name)));
  }
  return text + Disagreement(tried, result.counts);
}

}  // namespace countrace::runtime
