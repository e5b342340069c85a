// Numbers of `countrace stat` that need no recording: means of runs, and the
// kernel's split into user and system time.
#include "rmap/stat/stat_numbers.h"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "catch2/catch.hpp"
#include "logformat/packet_layout.h"
#include "rmap/stat/repeated_numbers.h"
#include "rmap/stat/stat_render.h"

namespace countrace::rmap {

TEST_CASE("repeated numbers: Student's interval of known values",
          "[rmap][stat]") {
  std::vector<std::vector<StatNumber>> runs;
  for (const std::uint64_t value : {10u, 12u, 14u}) {
    runs.push_back({{.name = "a", .value = value}});
  }
  const auto numbers = RepeatedNumbersOf(runs);
  REQUIRE(numbers.size() == 1);
  CHECK(numbers[0].mean == 12);
  CHECK(*numbers[0].deviation == Approx(2));
  // t(0.975, 2) = 4.30265
  CHECK(*numbers[0].hi - 12 == Approx(4.30265 * 2 / std::sqrt(3.0)));
  CHECK(*numbers[0].lo == Approx(12 - 4.30265 * 2 / std::sqrt(3.0)));
}

TEST_CASE("repeated numbers: bounds of runs widen the interval",
          "[rmap][stat]") {
  const auto of = [](Bounds bounds) {
    StatNumber bounded{.name = "a", .value = 10, .bounds = bounds};
    bounded.quality = Quality::kBounded;
    return RepeatedNumbersOf({{{.name = "a", .value = 10}}, {bounded}})[0];
  };
  const RepeatedNumber wider = of({8, 20});
  CHECK(*wider.lo == Approx(9));
  CHECK(*wider.hi == Approx(15));
  CHECK(wider.quality == Quality::kBounded);
  const RepeatedNumber open = of({8, Bounds::kNone});
  CHECK(open.lo);
  CHECK_FALSE(open.hi);
  CHECK(open.note.empty());
}

TEST_CASE("repeated numbers: the reason of a bound is in the text and JSON",
          "[rmap][stat]") {
  StatNumber bounded{.name = "a", .value = 10, .bounds = Bounds{8, 20}};
  bounded.quality = Quality::kBounded;
  bounded.note = "records were lost: lose fewer";
  StatResult result;
  result.runs = {{{.name = "a", .value = 10}}, {bounded}};
  CHECK_THAT(StatText(result, 200, false), Catch::Contains(bounded.note));
  CHECK_THAT(StatJson(result), Catch::Contains(bounded.note));
}

TEST_CASE("repeated numbers: a number that not all runs have", "[rmap][stat]") {
  const auto numbers = RepeatedNumbersOf(
      {{{.name = "a", .value = 1}},
       {{.name = "a", .value = 3}, {.name = "b", .value = 5}}});
  REQUIRE(numbers.size() == 2);
  CHECK(numbers[1].values == std::vector<std::uint64_t>{5});
  CHECK_FALSE(numbers[1].hi);
}

TEST_CASE("user and system: samples at clock ticks are within the interval",
          "[rmap][stat][property]") {
  std::mt19937 random(3);
  int held = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    const double share =
        std::uniform_real_distribution<double>(0.02, 0.98)(random);
    const std::uint64_t ticks = 1 + random() % 300;
    std::binomial_distribution<std::uint64_t> in_user(ticks, share);
    const std::uint64_t user = in_user(random) * 10'000'000;
    const std::uint64_t total = ticks * 10'000'000;
    const auto parts = UserAndSystem(user, total - user, total);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].value + parts[1].value == total);
    const double truth = share * static_cast<double>(total);
    held += truth >= static_cast<double>(parts[0].bounds->lo) - 1 &&
            truth <= static_cast<double>(parts[0].bounds->hi) + 1;
    CHECK(parts[0].bounds->lo + parts[1].bounds->hi + 1 - total <= 2);
    // Losses: all that the interval of the whole holds.
    const auto wide =
        UserAndSystem(user, total - user, total, Bounds{total / 2, total * 2});
    for (const std::size_t i : {0u, 1u}) {
      CHECK(wide[i].value == parts[i].value);
      CHECK(wide[i].bounds->lo <= parts[i].bounds->lo / 2 + 1);
      CHECK(wide[i].bounds->hi >= parts[i].bounds->hi * 2 - 1);
    }
    CHECK(UserAndSystem(user, total - user, total, Bounds{0})[0].bounds->hi ==
          Bounds::kNone);
  }
  CHECK(held > 0.93 * kRuns);
  CHECK(UserAndSystem(0, 0, 5).empty());
  CHECK(UserAndSystem(1, 1, 0).empty());
}

// A report of one process of two threads, in which each source of doubt is
// there or not, as the bits of `doubts` say.
Report DoubtfulReport(unsigned doubts) {
  const auto has = [&doubts] { return std::exchange(doubts, doubts / 2) % 2; };
  const Bounds wide{1, 500};
  Report report;
  report.scope = "command";
  report.end_ns = 1000;
  report.wakeups = report.throttled = true;
  report.events.emplace_back().name = "page-faults";
  Books& books = report.books.emplace_back();
  books.processes = 100;
  ProcessRow& process = report.processes.emplace_back();
  process.on_cpu_ns = 100;
  if (has()) process.bounds.Set(Number::kOnCpu, 100, wide);
  ThreadRow& thread = report.threads.emplace_back();
  thread.wait_ns = thread.blocked_ns = thread.throttled_ns = 100;
  thread.dispatches = thread.migrations = 100;
  for (const Number number :
       {Number::kWait, Number::kBlocked, Number::kThrottled,
        Number::kDispatches, Number::kMigrations}) {
    if (has()) thread.bounds.Set(number, 100, wide);
  }
  if (has()) report.threads.emplace_back();  // it did not run
  if (has()) books.unattributed = 7;
  if (has()) books.residual = 5;
  if (has()) books.doubt.went_back_intervals = 1;
  if (has()) books.doubt.wrapped_intervals = 1;
  if (has()) report.hidden_switches = 1;
  if (has()) report.loss.discarded_events = 3;
  return report;
}

TEST_CASE("stat numbers: a number that is bounded always says why",
          "[rmap][stat][property]") {
  SwitchTotals lost, none;
  lost.OnLoss({0, kNoThread, 5, 9, 3, "disk_full"});
  for (unsigned doubts = 0; doubts < 1u << 13; ++doubts) {
    const Report report = DoubtfulReport(doubts);
    for (const SwitchTotals* const totals : {&none, &lost}) {
      for (const StatNumber& number : StatNumbersOf(report, *totals)) {
        INFO(doubts << ' ' << number.name << ": " << number.note);
        const bool bounded = number.quality == Quality::kBounded;
        REQUIRE(number.bounds.has_value() == bounded);
        REQUIRE(number.note.empty() != bounded);
        // What is so, and what helps.
        REQUIRE((number.note.find(": ") != number.note.npos) == bounded);
        if (report.loss.discarded_events != 0 || report.hidden_switches != 0 ||
            report.books[0].unattributed != 0) {
          REQUIRE(number.note.find("not known at an edge") == number.note.npos);
        }
      }
    }
  }
}

TEST_CASE("switch totals: by the state in which a dispatch ended",
          "[rmap][stat]") {
  SwitchTotals totals;
  const auto end = [&totals](std::uint16_t state, bool inferred = false,
                             std::uint64_t end_ns = 10, bool outside = false) {
    totals.OnDispatch({.cpu = 0,
                       .thread = ThreadIndex{1},
                       .begin_ns = 1,
                       .end_ns = end_ns,
                       .end_state = state,
                       .counts = {},
                       .interrupts_ns = 0,
                       .begin_inferred = false,
                       .end_inferred = inferred,
                       .outside = outside});
  };
  end(logformat::kSwitchInterruptible);
  end(logformat::kSwitchDead);
  end(logformat::kSwitchRunnable);
  end(logformat::kSwitchPreempted);
  end(logformat::kSwitchThrottled);
  end(logformat::kSwitchInterruptible, false, 10, true);  // of others
  end(0, true, 20);
  end(0, true, 100);  // cut by the end of the trace
  CHECK(totals.voluntary() == 2);
  CHECK(totals.involuntary() == 3);
  CHECK(totals.throttled() == 1);
  CHECK(totals.unknown(100) == 1);
  CHECK(totals.unknown(200) == 2);
}

TEST_CASE("switch totals: counters behind a loss say how much there was",
          "[rmap][stat]") {
  SwitchTotals totals;
  const auto lose = [&totals](std::int32_t cpu) {
    totals.OnLoss({cpu, kNoThread, 5, 9, 3, "disk_full"});
  };
  const auto count = [&totals](std::uint32_t cpu) {
    totals.OnCounters({cpu, 10, {}, {}});
  };
  count(0);
  lose(-1);  // of a thread's hooks
  CHECK_FALSE(totals.end_is_lost());
  lose(0);
  CHECK(totals.end_is_lost());
  count(1);
  CHECK(totals.end_is_lost());
  count(0);
  CHECK_FALSE(totals.end_is_lost());
  lose(1);
  Report report;
  report.events.emplace_back().name = "page-faults";
  report.books.emplace_back().known = false;
  const auto numbers = StatNumbersOf(report, totals);
  REQUIRE_FALSE(numbers.empty());
  for (const StatNumber& number : numbers) {
    REQUIRE(number.bounds);
    CHECK(number.bounds->hi == Bounds::kNone);
    CHECK(number.quality == Quality::kBounded);
  }
}

TEST_CASE("user and system: no tick in one of them is no certainty",
          "[rmap][stat]") {
  const auto parts = UserAndSystem(2'000'000, 0, 2'000'000);
  REQUIRE(parts.size() == 2);
  for (const StatNumber& part : parts) CHECK(*part.standard_error > 100'000);
}

TEST_CASE("stat text: a bound without an upper limit says so", "[rmap][stat]") {
  StatResult result;
  result.of = "x";
  result.runs = {{{.name = "cycles",
                   .value = 1000,
                   .bounds = Bounds{1000, Bounds::kNone},
                   .quality = Quality::kBounded,
                   .note = "reset or taken by another program for 1.00 s"}}};
  const std::string text = StatText(result, 100, false);
  CHECK_THAT(text, Catch::Contains("at least 1,000"));
  CHECK_THAT(text, Catch::Contains("taken by another program"));
  CHECK_THAT(StatJson(result), Catch::Contains("\"hi\": null"));
  CHECK_THAT(StatCsv(result),
             Catch::Contains("cycles,count,1000,1000,,,,bounded,1"));
}

}  // namespace countrace::rmap
