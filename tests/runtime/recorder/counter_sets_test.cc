#include "runtime/recorder/events/counter_sets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "logformat/vocabularies/vocabulary.h"

namespace countrace::runtime {
namespace {

using logformat::VocabularyEvent;

// Every choice of rows and counters, one after the other.
bool TryEveryChoice(const std::vector<EventRows>& events, std::size_t next,
                    std::map<std::string, std::uint32_t>& groups,
                    std::uint64_t used) {
  if (next == events.size()) return true;
  for (const VocabularyEvent& row : events[next]) {
    auto selected = groups;
    bool agree = true;
    std::vector<std::string> units = row.units;
    if (units.empty()) units.push_back("");
    for (const std::string& unit : units) {
      if (!row.group) continue;
      if (selected.count(unit) != 0 && selected[unit] != *row.group) {
        agree = false;
      }
      selected[unit] = *row.group;
    }
    if (!agree) continue;
    for (const std::uint32_t counter : row.counters) {
      const std::uint64_t bit = std::uint64_t{1} << counter;
      if ((used & bit) == 0 &&
          TryEveryChoice(events, next + 1, selected, used | bit)) {
        return true;
      }
    }
  }
  return false;
}

// The fewest sets by every partition.
std::size_t FewestByPartitions(std::size_t count,
                               const std::vector<char>& fits) {
  std::size_t best = count + 1;
  std::vector<std::uint32_t> sets;
  const auto place = [&](const auto& self, std::size_t next) -> void {
    if (next == count) {
      best = std::min(best, sets.size());
      return;
    }
    const std::uint32_t bit = 1u << next;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (fits[sets[i] | bit] == 0) continue;
      sets[i] |= bit;
      self(self, next + 1);
      sets[i] &= ~bit;
    }
    if (fits[bit] == 0) return;
    sets.push_back(bit);
    self(self, next + 1);
    sets.pop_back();
  };
  place(place, 0);
  return best;
}

std::vector<EventRows> RandomProblem(std::mt19937& random) {
  const auto below = [&random](std::uint32_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  const std::uint32_t counters = 1 + below(4);
  std::vector<EventRows> events(1 + below(7));
  for (EventRows& rows : events) {
    rows.resize(1 + below(3));
    for (VocabularyEvent& row : rows) {
      for (std::uint32_t i = 0; i < counters; ++i) {
        if (below(2) == 0) row.counters.push_back(i);
      }
      if (row.counters.empty()) row.counters.push_back(below(counters));
      if (below(3) != 0) row.group = below(3);
      if (below(2) == 0) row.units.push_back("A");
      if (below(3) == 0) row.units.push_back("B");
    }
  }
  return events;
}

std::vector<EventRows> Rows(const std::string& model,
                            const std::vector<std::string>& names) {
  const auto vocabulary =
      logformat::ParseVocabulary(logformat::ShippedVocabulary(model), model);
  REQUIRE(vocabulary.ok());
  std::vector<EventRows> rows;
  for (const std::string& name : names) {
    rows.push_back(logformat::FindEvent(*vocabulary, name));
    CAPTURE(name);
    CHECK_FALSE(rows.back().empty());
  }
  return rows;
}

EventIndices Order(const std::vector<EventRows>& events) {
  EventIndices order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return ChoicesOf(events[a]) < ChoicesOf(events[b]);
                   });
  return order;
}

Judge RulesOf(const std::vector<EventRows>& events) {
  return [&events](const EventIndices& some) {
    std::vector<EventRows> rows;
    for (const std::size_t i : some) rows.push_back(events[i]);
    return CountTogether(rows);
  };
}

TEST_CASE("counter_sets: 10,000 random problems equal brute force",
          "[recorder][counter_sets][property]") {
  std::mt19937 random(46);
  for (int problem = 0; problem < 10'000; ++problem) {
    CAPTURE(problem);
    const std::vector<EventRows> events = RandomProblem(random);
    const std::uint32_t parts = 1u << events.size();
    std::vector<char> fits(parts, 0);
    std::size_t smallest = events.size() + 1;
    bool same = true;
    for (std::uint32_t part = 0; part < parts; ++part) {
      std::vector<EventRows> some;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if ((part >> i & 1) != 0) some.push_back(events[i]);
      }
      std::map<std::string, std::uint32_t> groups;
      fits[part] = TryEveryChoice(some, 0, groups, 0) ? 1 : 0;
      same &= CountTogether(some) == (fits[part] != 0);
      if (fits[part] == 0) smallest = std::min(smallest, some.size());
    }
    REQUIRE(same);
    const auto part_of = [](const EventIndices& some) {
      std::uint32_t part = 0;
      for (const std::size_t i : some) part |= 1u << i;
      return part;
    };
    EventIndices all(events.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const EventIndices conflict = SmallestConflict(all, RulesOf(events));
    if (fits[parts - 1] != 0) {
      REQUIRE(conflict.empty());
    } else {
      REQUIRE(conflict.size() == smallest);
      REQUIRE(fits[part_of(conflict)] == 0);
    }
    const auto sets = FewestSets(all, RulesOf(events));
    REQUIRE(sets.size() == FewestByPartitions(events.size(), fits));
    std::uint32_t covered = 0;
    for (const EventIndices& set : sets) {
      REQUIRE(fits[part_of(set)] != 0);
      REQUIRE((covered & part_of(set)) == 0);
      covered |= part_of(set);
    }
    REQUIRE(covered == parts - 1);
  }
}

TEST_CASE("counter_sets: more events than are searched exactly are all counted",
          "[recorder][counter_sets]") {
  std::mt19937 random(47);
  for (int problem = 0; problem < 50; ++problem) {
    std::vector<EventRows> events;
    while (events.size() < 40) {
      for (EventRows& rows : RandomProblem(random)) {
        events.push_back(std::move(rows));
      }
    }
    std::vector<int> times(events.size(), 0);
    const Judge fits = RulesOf(events);
    for (const EventIndices& set : FewestSets(Order(events), fits)) {
      CHECK(fits(set));
      for (const std::size_t i : set) ++times[i];
    }
    CHECK(std::count(times.begin(), times.end(), 1) ==
          static_cast<std::ptrdiff_t>(times.size()));
  }
}

TEST_CASE("counter_sets: an event that never fits is in no set",
          "[recorder][counter_sets]") {
  const Judge fits = [](const EventIndices& some) {
    return some.size() <= 2 && std::count(some.begin(), some.end(), 1u) == 0;
  };
  CHECK(FewestSets({0, 1, 2, 3}, fits) ==
        std::vector<EventIndices>{{0, 2}, {3}});
  CHECK(SmallestConflict({0, 1, 2, 3}, fits) == EventIndices{1});
  CHECK(FewestSets({1}, fits).empty());
}

TEST_CASE("counter_sets: the papers' machines", "[recorder][counter_sets]") {
  // perfex: the 30 events of the R10000 in 15 pairs.
  std::vector<std::string> r10000;
  const auto vocabulary = logformat::ParseVocabulary(
      logformat::ShippedVocabulary("r10000"), "r10000");
  for (const VocabularyEvent& event : vocabulary->events) {
    if (std::find(r10000.begin(), r10000.end(), event.name) == r10000.end()) {
      r10000.push_back(event.name);
    }
  }
  const auto perfex = Rows("r10000", r10000);
  CHECK(FewestSets(Order(perfex), RulesOf(perfex)).size() == 15);
  CHECK_FALSE(CountTogether(Rows("r10000", {"l1d_misses", "tlb_refills"})));
  CHECK(CountTogether(Rows("r10000", {"l1d_misses", "l1i_misses"})));

  // CPI analysis: 16 counters of Table 2, of 7 groups.
  const auto cpi = Rows(
      "power5",
      {"PM_INST_CMPL_G0", "PM_INST_CMPL", "PM_RUN_CYC", "PM_GRP_CMPL",
       "PM_GCT_NOSLOT_CYC", "PM_GCT_NOSLOT_IC_MISS", "PM_GCT_NOSLOT_SRQ_FULL",
       "PM_GCT_NOSLOT_BR_MPRED", "PM_CMPL_STALL_LSU", "PM_CMPL_STALL_REJECT",
       "PM_CMPL_STALL_DCACHE_MISS", "PM_CMPL_STALL_ERAT_MISS",
       "PM_CMPL_STALL_FXU", "PM_CMPL_STALL_DIV", "PM_CMPL_STALL_FDIV",
       "PM_CMPL_STALL_FPU"});
  CHECK(FewestSets(Order(cpi), RulesOf(cpi)).size() == 7);

  // POWER2: a unit has one group; SGA takes all units.
  CHECK(CountTogether(Rows("power2", {"FXU_0_0", "FXU_0_4", "ICU_9_1",
                                      "SCU_3_2", "FPU_15_0", "CPU_CYCLES"})));
  CHECK_FALSE(CountTogether(Rows("power2", {"FXU_0_0", "FXU_1_1"})));
  CHECK(CountTogether(Rows("power2", {"SGA_0", "SGA_19", "MEMORY_ERRORS"})));
  CHECK_FALSE(CountTogether(Rows("power2", {"SGA_0", "ICU_0_1"})));
  // Its sweep: 16 steps for the 320 places.
  std::vector<std::string> all;
  for (const char* unit : {"FPU", "FXU", "ICU", "SCU"}) {
    for (int group = 0; group < 16; ++group) {
      for (int element = 0; element < 5; ++element) {
        all.push_back(unit + ("_" + std::to_string(group)) + "_" +
                      std::to_string(element));
      }
    }
  }
  const auto sweep = Rows("power2", all);
  CHECK(FewestSets(Order(sweep), RulesOf(sweep)).size() == 16);
}

}  // namespace
}  // namespace countrace::runtime
