// Accepted, suppressed and due triggers, compared with rules of one sentence
// each.
#include "runtime/recorder/triggers/trigger_schedule.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "logformat/description/recorded_part.h"

namespace countrace::runtime {
namespace {

std::vector<Trigger> Parsed(const std::vector<std::string>& texts) {
  auto triggers = ParseTriggers(texts);
  REQUIRE(triggers.ok());
  return *std::move(triggers);
}

}  // namespace

TEST_CASE(
    "trigger_schedule: accepted ones are apart and no more than allowed") {
  std::mt19937_64 random(42);
  for (int round = 0; round < 200; ++round) {
    const auto triggers =
        Parsed({"hook a:b at most every 100ns at most 20 times"});
    TriggerSchedule schedule(triggers);
    std::uint64_t now_ns = 1000, accepted = 0, fired = 0, last_ns = 0;
    for (int i = 0; i < 100; ++i) {
      now_ns += random() % 60;
      ++fired;
      const bool expected =
          accepted < 20 && (accepted == 0 || now_ns - last_ns >= 100);
      REQUIRE(schedule.Accept(0, now_ns) == expected);
      if (!expected) continue;
      ++accepted;
      last_ns = now_ns;
    }
    REQUIRE(schedule.fired(0) == fired);
    REQUIRE(schedule.suppressed(0) == fired - accepted);
  }
}

TEST_CASE("trigger_schedule: a start is due at once, and no snapshot") {
  const auto triggers = Parsed({"hook a:b then start", "hook a:b"});
  TriggerSchedule schedule(triggers);
  for (const std::size_t i : {0u, 1u}) {
    REQUIRE(schedule.Accept(i, 100));
    schedule.Add(i, 100, "what");
  }
  const DueTriggers due = schedule.TakeDue(100);
  REQUIRE(due.reasons.empty());
  REQUIRE(due.bounds.size() == 1);
  REQUIRE(due.bounds[0].time_ns == 100);
  REQUIRE_FALSE(due.stop);
  REQUIRE(schedule.TakeAll().reasons.size() == 1);
  REQUIRE_FALSE(schedule.Accept(0, 2'000'000'000));
  REQUIRE(schedule.suppressed(0) == 1);
}

TEST_CASE("trigger_schedule: pauses and resumes take turns") {
  const auto triggers =
      Parsed({"hook a:b then pause", "hook c:d then resume", "hook e:f"});
  TriggerSchedule schedule(triggers);
  REQUIRE_FALSE(schedule.Accept(1, 50));  // no pause to end
  std::vector<std::uint64_t> taken;
  for (const auto& [trigger, time_ns] :
       std::vector<std::pair<std::size_t, std::uint64_t>>{{0, 100},
                                                          {0, 200},
                                                          {1, 99},
                                                          {1, 300},
                                                          {1, 400},
                                                          {0, 299},
                                                          {0, 500}}) {
    if (!schedule.Accept(trigger, time_ns)) continue;
    schedule.Add(trigger, time_ns, "what");
    taken.push_back(time_ns);
  }
  REQUIRE(taken == std::vector<std::uint64_t>{100, 300, 500});
  REQUIRE(schedule.TakeDue(499).bounds.size() == 2);
  REQUIRE(schedule.TakeAll().bounds.size() == 1);
  REQUIRE(schedule.suppressed(0) == 2);
  REQUIRE(schedule.suppressed(1) == 3);
}

TEST_CASE("trigger_schedule: thousands of pauses a second have an end") {
  const auto triggers = Parsed({"hook a:b then pause", "hook c:d then resume"});
  TriggerSchedule schedule(triggers);
  std::size_t pauses = 0;
  for (std::uint64_t i = 1; i < 50'000; ++i) {
    pauses += schedule.Accept(0, 2 * i) ? 1 : 0;
    schedule.Accept(1, 2 * i + 1);
  }
  REQUIRE(pauses == logformat::kMostPauses);
  REQUIRE_FALSE(schedule.Accept(0, 1'000'000));
  REQUIRE(schedule.suppressed(1) == 49'999 - pauses);
}

TEST_CASE("trigger_schedule: one snapshot for all that is due") {
  const auto triggers = Parsed({"hook a:b after 10ns", "hook c:d after 30ns"});
  TriggerSchedule schedule(triggers);
  for (const std::size_t i : {0u, 1u}) {
    REQUIRE(schedule.Accept(i, 100));
    schedule.Add(i, 100, "what");
  }
  REQUIRE(schedule.TakeDue(109).reasons.empty());
  const DueTriggers first = schedule.TakeDue(110);
  REQUIRE(first.reasons.size() == 1);
  REQUIRE(first.reasons[0].trigger == "hook a:b after 10ns");
  REQUIRE(first.reasons[0].time_ns == 100);
  REQUIRE_FALSE(first.stop);
  REQUIRE(schedule.TakeAll().reasons.size() == 1);
  REQUIRE(schedule.TakeAll().reasons.empty());
}

TEST_CASE("trigger_schedule: a stop takes what waits with it, once") {
  const auto triggers = Parsed({"hook a:b after 5s", "hook c:d then stop"});
  TriggerSchedule schedule(triggers);
  REQUIRE(schedule.Accept(0, 100));
  schedule.Add(0, 100, "first");
  REQUIRE(schedule.Accept(1, 200));
  schedule.Add(1, 200, "second");
  REQUIRE_FALSE(schedule.Accept(1, 5'000'000'000));
  const DueTriggers due = schedule.TakeDue(200 + 10'000'000);
  REQUIRE(due.stop);
  REQUIRE(due.reasons.size() == 2);
}

}  // namespace countrace::runtime
