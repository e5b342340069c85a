// Dumps of event sets in one shape (rmap/counters/event_set_dumps.h), by the
// definition in logformat/event_sets.h.
#include "rmap/counters/event_set_dumps.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <vector>

namespace countrace::rmap {
namespace {

using logformat::EventRecord;

// One always-on event, then sets of 2, 3 and 1 events: measures 0; 1, 2;
// 3, 4, 5; 6. For CPUs follow the running times of the sets: 7, 8, 9.
logformat::EventSets Sets(bool of_cpu) { return {7, {2, 3, 1}, of_cpu}; }

constexpr std::size_t kFirst[] = {1, 3, 6}, kSizes[] = {2, 3, 1};

// By measure. Absent values are not in the map.
std::map<std::size_t, std::uint64_t> Values(const EventRecord& spread) {
  std::map<std::size_t, std::uint64_t> values;
  for (std::size_t i = 0; i < 16; ++i) {
    if (spread.present >> i & 1u) values[i] = spread.counters[i];
  }
  return values;
}

TEST_CASE("event set dumps: each value goes to its own event", "[rmap]") {
  const bool of_cpu = GENERATE(false, true);
  EventSetDumps dumps(Sets(of_cpu));
  CHECK(dumps.measures() == (of_cpu ? 10 : 7));
  const std::size_t slots = of_cpu ? 5 : 4;
  std::vector<std::uint64_t> counters;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    counters.push_back(100 + slot);
  }
  for (std::uint32_t set = 0; set < 3; ++set) {
    for (std::uint32_t present = 0; present < 1u << slots; ++present) {
      CAPTURE(set, present);
      EventRecord record{};
      record.counters = counters.data();
      record.mmcr = set;
      record.present = present;
      std::map<std::size_t, std::uint64_t> expected;
      if (present & 1u) expected[0] = 100;
      // A CPU's counts of a set without its running time cannot be used.
      const bool running = (present >> (slots - 1) & 1u) != 0;
      for (std::size_t i = 0; i < kSizes[set]; ++i) {
        if ((present >> (1 + i) & 1u) != 0 && (!of_cpu || running)) {
          expected[kFirst[set] + i] = 101 + i;
        }
      }
      if (of_cpu && running) expected[7 + set] = 104;
      CHECK(Values(dumps.Spread(record)) == expected);
    }
  }
  // A dump of a set that is not described has only the always-on event.
  EventRecord record{};
  record.counters = counters.data();
  record.mmcr = 3;
  record.present = (1u << slots) - 1;
  CHECK(Values(dumps.Spread(record)) ==
        std::map<std::size_t, std::uint64_t>{{0, 100}});
}

TEST_CASE("event set dumps: what perf multiplexed keeps its mark", "[rmap]") {
  EventSetDumps dumps(Sets(/*of_cpu=*/false));
  const std::uint64_t counters[] = {100, 101, 102, 103};
  EventRecord record{};
  record.counters = counters;
  record.mmcr = 1;
  record.present = 0b1111u | 0b0101u << 16;
  CHECK(dumps.Spread(record).present ==
        ((1u << 0 | 1u << 3 | 1u << 4 | 1u << 5) | (1u << 0 | 1u << 4) << 16));
}

TEST_CASE("event set dumps: bits and running times of sets", "[rmap]") {
  const EventSetDumps dumps(Sets(/*of_cpu=*/true));
  CHECK(dumps.of_set(0) == MeasureSet(1u << 1 | 1u << 2 | 1u << 7));
  CHECK(dumps.of_set(1) == MeasureSet(1u << 3 | 1u << 4 | 1u << 5 | 1u << 8));
  CHECK(dumps.of_set(2) == MeasureSet(1u << 6 | 1u << 9));
  CHECK(dumps.of_set(99).empty());
  CHECK(dumps.rotating() == MeasureSet(0b1111111110u));
  const std::vector<std::size_t> places = dumps.running_places();
  REQUIRE(places.size() == 7);
  CHECK(std::vector(places.begin() + 1, places.end()) ==
        std::vector<std::size_t>{7, 7, 8, 8, 8, 9});
  CHECK(EventSetDumps({4, {}, false}).running_places().empty());
  CHECK(EventSetDumps({4, {}, false}).rotating().empty());
  // Threads have no running times.
  CHECK(EventSetDumps(Sets(/*of_cpu=*/false)).rotating() ==
        MeasureSet(0b1111110u));
}

TEST_CASE("event set dumps: as many events and sets as a session may have",
          "[rmap]") {
  // 4 always on, then 63 sets of 4 events: 256, and as many running times.
  constexpr std::size_t kAlways = 4, kInSet = 4, kSets = 63;
  static_assert(kAlways + kSets * kInSet == logformat::kMaxEvents);
  const logformat::EventSets sets{logformat::kMaxEvents,
                                  std::vector<std::size_t>(kSets, kInSet),
                                  /*running_slot=*/true};
  REQUIRE(sets.valid());
  EventSetDumps dumps(sets);
  REQUIRE(dumps.measures() == logformat::kMaxEvents + kSets);
  REQUIRE(dumps.measures() <= kMaxMeasures);
  for (std::uint32_t set = 0; set < kSets; ++set) {
    CAPTURE(set);
    const std::vector<std::uint64_t> counters = {
        1, 2, 3, 4, 1000 + set, 11, 12, 13, 5000 + set};
    EventRecord record{};
    record.counters = counters.data();
    record.mmcr = set;
    record.present = 0b1'1011'1111;  // without the third of the set
    const EventRecord spread = dumps.Spread(record);
    std::map<std::size_t, std::uint64_t> expected = {
        {0, 1}, {1, 2}, {2, 3}, {3, 4}};
    const std::size_t first = kAlways + set * kInSet;
    expected[first] = 1000 + set;
    expected[first + 1] = 11;
    expected[first + 3] = 13;
    expected[logformat::kMaxEvents + set] = 5000 + set;
    std::map<std::size_t, std::uint64_t> found;
    dumps.PresentIn(spread).ForEach(
        [&](std::size_t i) { found[i] = spread.counters[i]; });
    CHECK(found == expected);
    CHECK(dumps.PresentIn(spread).Intersects(dumps.of_set(set)));
    CHECK_FALSE(
        dumps.PresentIn(spread).Intersects(dumps.of_set((set + 1) % kSets)));
    CHECK(sets.SetOf(first + 3) == set);
  }
}

}  // namespace
}  // namespace countrace::rmap
