#include "runtime/recorder/events/event_set_choice.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_format.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/events/session_room.h"
#include "runtime/recorder/kernel/perf/perf_decoder.h"

namespace countrace::runtime {
namespace {

EventChoice MustParse(const std::string& list) {
  const auto choice = ParseEventChoice(SplitEvents({list}), true);
  INFO(choice.status().ToString());
  REQUIRE(choice.ok());
  return *choice;
}

std::string Refused(const std::string& list) {
  const auto choice = ParseEventChoice(SplitEvents({list}), true);
  REQUIRE_FALSE(choice.ok());
  return std::string(choice.status().message());
}

// "{r1000,r1001},{r1002,r1003}" for 2 sets of 2.
std::string SetsOf(std::size_t sets, std::size_t in_set) {
  std::string text;
  for (std::size_t i = 0; i < sets * in_set; ++i) {
    text += i % in_set == 0 ? (i == 0 ? "{" : "},{") : ",";
    text += absl::StrFormat("r%x", 0x1000 + i);
  }
  return text + "}";
}
std::string LastOf(std::size_t sets, std::size_t in_set) {
  return absl::StrFormat("r%x", 0x1000 + sets * in_set - 1);
}

TEST_CASE("event_set_choice: what fits is a choice again",
          "[recorder][event_set_choice]") {
  // Software events of this thread open without privilege.
  const std::vector<std::string> fitting = InRotation(
      MustParse("task-clock,{page-faults},{minor-faults,major-faults}"),
      {.tid = 0, .cpu = -1, .exclude_kernel = true});
  CHECK(fitting == std::vector<std::string>{"task-clock", "{page-faults}",
                                            "{minor-faults,major-faults}"});
  CHECK(ParseEventChoice(fitting, true).ok());
}

TEST_CASE("event_set_choice: events always on come first, then set after set",
          "[recorder][event_set_choice]") {
  const EventChoice choice = MustParse(
      "{minor-faults,major-faults},task-clock,{r01c2,cpu-migrations:u},"
      "{context-switches}");
  std::vector<std::string> names;
  for (const EventSpec& event : choice.events) names.push_back(event.name);
  CHECK(names == std::vector<std::string>{
                     "task-clock", "minor-faults", "major-faults", "r01c2",
                     "cpu-migrations:u", "context-switches"});
  CHECK(choice.set_sizes == std::vector<std::size_t>{2, 2, 1});
  CHECK(NamesOf(choice, 1) == "r01c2,cpu-migrations:u");
  const logformat::EventSets sets = choice.sets(true);
  CHECK(sets.slots() == 1 + 2 + 1);
  CHECK(sets.EventAt(2, 1) == 5u);
  CHECK(sets.EventAt(2, 2) == std::nullopt);  // unused
  CHECK(sets.EventAt(7, 0) == 0u);
  CHECK(sets.EventAt(7, 1) == std::nullopt);  // no such set
  CHECK(sets.SetOf(0) == std::nullopt);
  CHECK(sets.SetOf(4) == 1u);
}

TEST_CASE("event_set_choice: one group is always on",
          "[recorder][event_set_choice]") {
  const EventChoice choice = MustParse("task-clock,{minor-faults,cpu-clock}");
  CHECK(choice.events.size() == 3);
  CHECK(choice.set_sizes.empty());
}

TEST_CASE("event_set_choice: what is no choice is said",
          "[recorder][event_set_choice]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(Refused("{minor-faults"), Contains("no event set"));
  CHECK_THAT(Refused("minor-faults}"), Contains("no event set"));
  CHECK_THAT(Refused("{a,{b},c}"), Contains("no event set"));
  CHECK_THAT(Refused("{},{cpu-clock}"), Contains("has no events"));
  CHECK_THAT(Refused("cpu-clock,{cpu-clock},{minor-faults}"),
             Contains("given twice"));
  CHECK_THAT(Refused("{cpu-clock},{exec-runtime}"), Contains("always counted"));
  std::string many;
  for (int i = 0; i < 20; ++i) {
    many += (i % 10 == 0 ? (i == 0 ? "{" : "},{") : ",");
    many += "r" + std::to_string(1000 + i);
  }
  CHECK_THAT(Refused(many + ",r5,r6,r7,r8,r9,ra},{r4}"),
             Contains("events=16, at most 15 in one set"));
  std::string sets;
  for (int i = 0; i < 65; ++i) {
    sets += (i == 0 ? "{r" : ",{r") + std::to_string(1000 + i) + "}";
  }
  CHECK_THAT(Refused(sets), Contains("event sets=65, at most 64"));
  CHECK_THAT(Refused(SetsOf(33, 8)), Contains("events=264, at most 256"));
  // Threads have places for fewer.
  const auto of_threads = ParseEventChoice(
      SplitEvents({"{r1},{r2},{r3},{r4},{r5},{r6},{r7},{r8},{r9}"}), false);
  REQUIRE_FALSE(of_threads.ok());
  CHECK_THAT(std::string(of_threads.status().message()),
             Contains("event sets=9, at most 8"));
}

TEST_CASE("event_set_choice: few events are in .session, many beside it",
          "[recorder][event_set_choice]") {
  auto control = std::make_unique<logformat::SessionControl>();
  const EventChoice few = MustParse(SetsOf(8, 3));
  CHECK(StoreCpuEvents(few, *control).empty());
  CHECK(control->cpu_event_count == 24);
  CHECK(std::string(control->cpu_events[23].name) == "r1017");
  CHECK(control->cpu_set_sizes[7] == 3);

  const EventChoice many = MustParse(SetsOf(64, 4));
  const std::string bytes = StoreCpuEvents(many, *control);
  CHECK(control->cpu_event_count == 256);
  CHECK(control->cpu_set_count == 64);
  REQUIRE(bytes.size() == 256 * sizeof(logformat::SessionEvent) + 64 * 4);
  logformat::SessionEvent last;
  std::memcpy(&last, bytes.data() + 255 * sizeof(last), sizeof(last));
  CHECK(std::string(last.name) == "r10ff");
  CHECK(last.config == 0x10ff);
  // What is in the memory of programs is left as it was.
  CHECK(std::string(control->cpu_events[23].name) == "r1017");
  CHECK(control->thread_event_count == 0);
}

TEST_CASE("session_room: all events of a machine, as far as they fit",
          "[recorder][session_room]") {
  const auto words = [](std::size_t sets, std::size_t in_set) {
    std::vector<std::string> all = {"task-clock", "page-faults"};
    for (const std::string& set : SplitEvents({SetsOf(sets, in_set)})) {
      all.push_back(set);
    }
    return all;
  };
  const auto [sets, in_set] = GENERATE(table<std::size_t, std::size_t>(
      {{1, 5}, {2, 40}, {30, 4}, {63, 4}, {64, 1}, {100, 2}, {20, 30}}));
  CAPTURE(sets, in_set);
  const FittingSets fitting = FitIntoSession(words(sets, in_set));
  const auto choice = ParseEventChoice(fitting.words, true);
  INFO(choice.status().ToString());
  REQUIRE(choice.ok());
  // Each event is counted, or said to be left out.
  CHECK(choice->events.size() + fitting.left_out.size() == 2 + sets * in_set);
  const bool fits = 2 + sets * in_set <= logformat::kMaxEvents &&
                    sets * ((in_set + 12) / 13) <= logformat::kMaxEventSets;
  CHECK(fitting.left_out.empty() == fits);
  if (!fits) {
    // Then one of the two limits is reached.
    CHECK((choice->events.size() == logformat::kMaxEvents ||
           choice->set_sizes.size() == logformat::kMaxEventSets));
    CHECK(fitting.left_out.back() == LastOf(sets, in_set));
  }
}

TEST_CASE("event_set_choice: an event that cannot be counted leaves its set",
          "[recorder][event_set_choice]") {
  const EventChoice choice = MustParse("r1,{r2,r3},{r4},{r5}");
  const EventChoice less = Keep(choice, {true, true, false, false, true});
  CHECK(less.events.size() == 3);
  CHECK(less.set_sizes == std::vector<std::size_t>{1, 1});
  // With one set left there is no multiplexing.
  const EventChoice one = Keep(choice, {true, true, true, false, false});
  CHECK(one.events.size() == 3);
  CHECK(one.set_sizes.empty());
}

TEST_CASE("rotation: every set is counted twice in each round, in any order",
          "[recorder][rotation]") {
  const auto sets = GENERATE(range(std::size_t{2}, std::size_t{9}));
  const auto seed = GENERATE(range(1u, 20u));
  CAPTURE(sets, seed);
  RotationSchedule schedule(sets, 10'000'000, seed);
  std::set<std::vector<std::uint32_t>> orders;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < 2 * sets; ++i)
      order.push_back(schedule.Next(3));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i / 2);
  }
  // Two sets have 6 orders, others more: no program's period stays in step.
  CHECK(orders.size() > 3);
}

TEST_CASE("rotation: of many sets each is counted in half a round",
          "[recorder][rotation]") {
  const auto sets = GENERATE(std::size_t{9}, std::size_t{30}, std::size_t{64});
  const auto seed = GENERATE(range(1u, 20u));
  CAPTURE(sets, seed);
  RotationSchedule schedule(sets, std::nullopt, seed);
  std::set<std::vector<std::uint32_t>> orders;
  for (int half = 0; half < 20; ++half) {
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < sets; ++i) order.push_back(schedule.Next(0));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < sets; ++i) CHECK(order[i] == i);
  }
  CHECK(orders.size() > 15);
  // So a command of a fifth of a second is counted by all of them.
  CHECK(sets * RotateNs(sets) <= 200'000'000);
  CHECK(RotateNs(sets) >= kLeastRotateNs);
  CHECK(RotateNs(8) == 10'000'000);
}

TEST_CASE("rotation: any set can be the first", "[recorder][rotation]") {
  constexpr std::size_t kSets = 3;
  std::vector<int> first(kSets);
  for (std::uint32_t seed = 1; seed <= 900; ++seed) {
    ++first[RotationSchedule(kSets, 10'000'000, seed).Next(0)];
  }
  for (const int times : first) CHECK(std::abs(times - 300) < 60);
}

TEST_CASE("rotation: the call nearest to the end of the period",
          "[recorder][rotation]") {
  RotationSchedule schedule(2, 30, 1);
  schedule.Begin(1000);
  CHECK_FALSE(schedule.IsDue(1011, 10));
  CHECK_FALSE(schedule.IsDue(1021, 10));
  CHECK(schedule.IsDue(1029, 10));
  CHECK_FALSE(schedule.IsDue(1041, 10));
  CHECK_FALSE(RotationSchedule(1, 30, 1).IsDue(1'000'000, 10));
  // Calls come as often as sets rotate, if that is often.
  RotationSchedule often(2, 3, 1);
  often.Begin(1000);
  CHECK_FALSE(often.IsDue(1001, 10));
  CHECK(often.IsDue(1002, 10));
}

TEST_CASE("perf_decoder: of a set that waits only what is always on is present",
          "[recorder][perf_decoder]") {
  // Events: always on, set 0 of two, set 1 of one; group: leader, then these.
  PerfDecoder decoder(SwitchFormat{}, {0, 1, 2, 3},
                      logformat::EventSets{4, {2, 1}, true});
  REQUIRE(decoder.dump_words() == 1 + 1 + 2 + 1);
  decoder.BeginSets(0, 100);
  // The leader's time_enabled is the clock of the counts, not the time.
  const auto group = [](std::uint64_t clock) {
    return std::vector<std::uint64_t>{5, clock, 0, 10, 20, 30, 40};
  };
  std::vector<std::uint64_t> dump(decoder.dump_words());
  REQUIRE(decoder.group_words() == group(0).size());
  CHECK(decoder.GroupClock(group(51)) == 51);
  REQUIRE(decoder.DecodeGroup(group(51), dump.data(), 150));
  CHECK(dump == std::vector<std::uint64_t>{0xfull << 32, 10, 20, 30, 51});
  decoder.ChangeSet(1, /*until_clock=*/62, /*since_ns=*/200,
                    /*since_clock=*/104);
  REQUIRE(decoder.DecodeGroup(group(80), dump.data(), 180));
  CHECK(dump == std::vector<std::uint64_t>{1 | 1ull << 32, 10, 0, 0, 0});
  REQUIRE(decoder.DecodeGroup(group(131), dump.data(), 230));
  CHECK(dump == std::vector<std::uint64_t>{1 | 0xbull << 32, 10, 40, 0, 27});
  // Set 0 again: its running time continues from its last value.
  decoder.ChangeSet(0, 140, 250, 150);
  REQUIRE(decoder.DecodeGroup(group(151), dump.data(), 251));
  CHECK(dump == std::vector<std::uint64_t>{0xfull << 32, 10, 20, 30, 63});
  // A set that the PMU rejects has no running time.
  decoder.ChangeSet(1, 160, ~std::uint64_t{0}, 0);
  REQUIRE(decoder.DecodeGroup(group(170), dump.data(), 270));
  CHECK(dump == std::vector<std::uint64_t>{1 | 1ull << 32, 10, 0, 0, 0});
  decoder.ChangeSet(1, 180, 290, 190);
  REQUIRE(decoder.DecodeGroup(group(190), dump.data(), 290));
  CHECK(dump == std::vector<std::uint64_t>{1 | 0xbull << 32, 10, 40, 0, 36});
  // Counters used by another program are absent; bits show it, not records.
  RecordBatch batch;
  decoder.SetRefused(0b1001, 300, batch);
  CHECK(batch.size() == 0);
  REQUIRE(decoder.DecodeGroup(group(200), dump.data(), 300));
  CHECK(dump[0] == 1);
  decoder.SetRefused(0, 310, batch);
  REQUIRE(decoder.DecodeGroup(group(210), dump.data(), 310));
  CHECK(dump == std::vector<std::uint64_t>{1 | 0xbull << 32, 10, 40, 0, 56});
}

TEST_CASE("perf decoder: without sets an entry says what was taken",
          "[recorder][perf_decoder]") {
  PerfDecoder decoder(SwitchFormat{}, {0, 2}, 3);
  const std::vector<std::uint64_t> group = {3, 0, 10, 30};
  std::vector<std::uint64_t> dump(decoder.dump_words());
  RecordBatch batch;
  decoder.SetRefused(0b100, 300, batch);
  decoder.SetRefused(0b100, 301, batch);
  REQUIRE(decoder.DecodeGroup(group, dump.data(), 300));
  CHECK(dump == std::vector<std::uint64_t>{10, 0, 0});
  decoder.SetRefused(0, 310, batch);
  REQUIRE(decoder.DecodeGroup(group, dump.data(), 310));
  CHECK(dump == std::vector<std::uint64_t>{10, 0, 30});
  REQUIRE(batch.size() == 2);
  for (const auto& [at, mask] :
       {std::pair{0u, ~std::uint32_t{0b100}}, {1u, ~std::uint32_t{0}}}) {
    CHECK(batch.records()[at].event_id == kCountedEntry);
    CHECK(static_cast<std::uint32_t>(*batch.Words(batch.records()[at])) ==
          mask);
  }
}

}  // namespace
}  // namespace countrace::runtime
