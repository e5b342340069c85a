#include "runtime/recorder/events/counter_sets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace countrace::runtime {
namespace {

constexpr int kMostQuestions = 5'000;  // some 50 us each, if tried

using Mask = std::uint32_t;  // the first event is the highest bit

// The fewest sets by dynamic programming over all parts of `events`.
std::vector<EventIndices> ExactSets(const EventIndices& events,
                                    const Judge& fits) {
  const std::size_t count = events.size();
  const auto bit = [count](std::size_t i) {
    return Mask{1} << (count - 1 - i);
  };
  const auto chosen = [&](Mask part) {
    EventIndices some;
    for (std::size_t i = 0; i < count; ++i) {
      if ((part & bit(i)) != 0) some.push_back(events[i]);
    }
    return some;
  };
  const Mask all = static_cast<Mask>((std::uint64_t{1} << count) - 1);
  std::vector<char> fitting(all + 1, 1);
  // The fewest sets of a part, and the one of them with its first event.
  std::vector<std::size_t> fewest(all + 1, 0);
  std::vector<Mask> first_set(all + 1, 0);
  for (Mask part = 1; part <= all; ++part) {
    for (std::size_t i = 0; i < count && fitting[part] != 0; ++i) {
      if ((part & bit(i)) != 0) fitting[part] = fitting[part & ~bit(i)];
    }
    Mask first = 1;
    while (first <= part / 2) first <<= 1;
    // Each fits alone, whatever a machine answers the second time.
    if (fitting[part] != 0 && part != first) {
      fitting[part] = fits(chosen(part)) ? 1 : 0;
    }
    fewest[part] = count + 1;
    // Large numbers first: sets of events that stand together.
    for (Mask set = part; set != 0 && (set & first) != 0;
         set = (set - 1) & part) {
      const bool fewer = fewest[part & ~set] + 1 < fewest[part];
      if (fitting[set] == 0 || !fewer) continue;
      fewest[part] = fewest[part & ~set] + 1;
      first_set[part] = set;
    }
  }
  std::vector<EventIndices> sets;
  for (Mask rest = all; rest != 0; rest &= ~first_set[rest]) {
    sets.push_back(chosen(first_set[rest]));
  }
  return sets;
}

std::vector<EventIndices> FirstFit(const EventIndices& events,
                                   const Judge& fits) {
  std::vector<EventIndices> sets;
  int questions = kMostQuestions;
  for (const std::size_t event : events) {
    bool taken = false;
    std::size_t set = questions > 0 || sets.empty() ? 0 : sets.size() - 1;
    for (; set < sets.size() && !taken; ++set, --questions) {
      sets[set].push_back(event);
      taken = fits(sets[set]);
      if (!taken) sets[set].pop_back();
    }
    if (!taken) sets.push_back({event});
  }
  return sets;
}

// Gives every event a counter, one after the other; an earlier one may move to
// another of its counters (augmenting paths).
class CounterPlan {
 public:
  explicit CounterPlan(const std::vector<EventRows>& events)
      : events_(events), counters_of_(events.size()) {
    event_of_.fill(kNone);
  }

  bool Place(std::size_t event) {
    if (event == events_.size()) return true;
    for (const auto& [groups, counters] : WaysOf(event)) {
      const auto groups_before = groups_;
      const auto events_before = event_of_;
      if (Select(groups)) {
        counters_of_[event] = counters;
        std::uint64_t seen = 0;
        if (FindCounter(event, seen) && Place(event + 1)) return true;
      }
      groups_ = groups_before;
      event_of_ = events_before;
    }
    return false;
  }

 private:
  using Groups = std::map<std::string, std::uint32_t>;  // of each unit
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Rows that need the same groups are one way, with the counters of all.
  std::map<Groups, std::uint64_t> WaysOf(std::size_t event) const {
    std::map<Groups, std::uint64_t> ways;
    for (const logformat::VocabularyEvent& row : events_[event]) {
      Groups groups;
      if (row.group && row.units.empty()) groups[""] = *row.group;
      for (const std::string& unit : row.units) {
        if (row.group) groups[unit] = *row.group;
      }
      for (const std::uint32_t counter : row.counters) {
        ways[groups] |= std::uint64_t{1} << counter;
      }
    }
    return ways;
  }

  bool Select(const Groups& groups) {
    return std::all_of(groups.begin(), groups.end(), [this](const auto& one) {
      return groups_.emplace(one).first->second == one.second;
    });
  }

  bool FindCounter(std::size_t event, std::uint64_t& seen) {
    for (std::size_t counter = 0; counter < event_of_.size(); ++counter) {
      const std::uint64_t bit = std::uint64_t{1} << counter;
      if ((counters_of_[event] & bit) == 0 || (seen & bit) != 0) continue;
      seen |= bit;
      if (event_of_[counter] != kNone &&
          !FindCounter(event_of_[counter], seen)) {
        continue;
      }
      event_of_[counter] = event;
      return true;
    }
    return false;
  }

  const std::vector<EventRows>& events_;
  std::vector<std::uint64_t> counters_of_;
  std::array<std::size_t, 64> event_of_{};
  Groups groups_;
};

}  // namespace

std::vector<EventIndices> FewestSets(const EventIndices& events,
                                     const Judge& fits) {
  EventIndices alone;
  for (const std::size_t event : events) {
    if (fits({event})) alone.push_back(event);
  }
  auto sets = alone.size() <= kExactEvents ? ExactSets(alone, fits)
                                           : FirstFit(alone, fits);
  for (EventIndices& set : sets) std::sort(set.begin(), set.end());
  std::sort(sets.begin(), sets.end());
  return sets;
}

EventIndices SmallestConflict(const EventIndices& events, const Judge& fits) {
  if (fits(events)) return {};
  int questions = kMostQuestions;
  for (std::size_t size = 1; size < events.size(); ++size) {
    std::vector<char> in(events.size(), 0);
    std::fill_n(in.begin(), size, 1);
    do {
      EventIndices some;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (in[i] != 0) some.push_back(events[i]);
      }
      if (!fits(some)) return some;
      if (--questions == 0) return {};
    } while (std::prev_permutation(in.begin(), in.end()));
  }
  return events;
}

bool CountTogether(const std::vector<EventRows>& events) {
  return CounterPlan(events).Place(0);
}

std::size_t ChoicesOf(const EventRows& rows) {
  std::size_t choices = 0;
  for (const auto& row : rows) choices += row.counters.size();
  return choices;
}

}  // namespace countrace::runtime
