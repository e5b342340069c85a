// Small comparisons with known results.
#include "rmap/diff/compare.h"

#include <catch2/catch.hpp>

#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using test_support::Noise;
using test_support::Random;
using test_support::SimulateRuns;
using test_support::TrueProgram;

const Noise kLittle{0.01, 0, false, false};

TrueProgram Server() {
  TrueProgram server;
  server.segments = {
      {"server", {"server:request"}, 100, 2000, 500, 0},
      {"server", {"server:request", "server:handle"}, 100, 110'000, 0, 3},
      {"server", {"server:request", "server:parse"}, 100, 5000, 0, 0}};
  return server;
}

Diff Compared(const TrueProgram& before, const TrueProgram& after,
              std::size_t runs, const CompareOptions& options = {}) {
  Random random(1);
  auto diff = Compare(SimulateRuns(runs, before, kLittle, random),
                      SimulateRuns(runs, after, kLittle, random), options);
  REQUIRE(diff.ok());
  return *std::move(diff);
}

TEST_CASE(
    "compare: the explanation names the segment, its share and the count "
    "that went with it",
    "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 2.1;
  slow.segments[1].faults_per_call = 411;
  const Diff diff = Compared(Server(), slow, 5);
  REQUIRE(diff.explanations.size() == 2);
  CHECK_THAT(diff.explanations[1],
             Catch::Matchers::Matches(
                 "5 runs a side find a change of on-CPU time by [0-9.]+ % in "
                 "total, [0-9.]+ % in the median row \\(power 80 %\\)"));
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::Matches(
                 "server:handle is 2\\.1x slower \\(\\+12\\.. ms of \\+12\\.. "
                 "ms on-CPU, (99|100|101) %\\): page-faults per call "
                 "(2|3)\\.?[0-9]* -> 41[0-9]\\.?[0-9]*"));
  CHECK(diff.rows[0].path.back() == "server:handle");
  // All but handle are noise.
  CHECK(diff.rows_within_noise == diff.rows.size() - 1);
}

TEST_CASE("compare: more calls differ from slower calls", "[rmap][diff]") {
  TrueProgram busy = Server();
  busy.segments[1].calls = 300;
  const Diff diff = Compared(Server(), busy, 5);
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::StartsWith("server:handle runs 3x as often (+"));
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::Contains("calls 100 -> 300"));
}

TEST_CASE("compare: a slower segment that no count explains says so",
          "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 3;
  CHECK_THAT(
      Compared(Server(), slow, 5).explanations[0],
      Catch::Matchers::EndsWith("no recorded count explains it (page-faults)"));
}

TEST_CASE("compare: time that goes to waiting is found in wall time",
          "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[2].off_cpu_ns_per_call = 500'000;
  const Diff diff = Compared(Server(), slow, 5);
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::StartsWith("server:parse is ") &&
                 Catch::Matchers::Contains(" wall, ") &&
                 Catch::Matchers::Contains("off-CPU per call 0 -> 50"));
}

TEST_CASE("compare: new and vanished call paths", "[rmap][diff]") {
  TrueProgram more = Server();
  more.segments.push_back({"server", {"server:audit"}, 100, 90'000, 0, 0});
  const Diff grown = Compared(Server(), more, 3);
  CHECK_THAT(grown.explanations[0],
             Catch::Matchers::StartsWith("server:audit is new (+8"));
  CHECK(grown.rows[0].presence == RowChange::Presence::kOnlyAfter);
  const Diff shrunk = Compared(more, Server(), 3);
  CHECK_THAT(shrunk.explanations[0],
             Catch::Matchers::StartsWith("server:audit is gone (-"));
  CHECK(shrunk.rows[0].presence == RowChange::Presence::kOnlyBefore);
}

TEST_CASE(
    "compare: processes of one name are one; other names are other rows "
    "unless asked",
    "[rmap][diff]") {
  TrueProgram renamed = Server();
  for (auto& segment : renamed.segments) segment.process = "server-new";
  CHECK(Compared(Server(), renamed, 3).rows.size() == 8);
  CompareOptions options;
  options.align.any_process = true;
  const Diff diff = Compared(Server(), renamed, 3, options);
  CHECK(diff.rows.size() == 4);
  CHECK(diff.discoveries == 0);
  CHECK(diff.balances[1].after.Unexplained() == 0);
}

TEST_CASE("compare: wall time leads where waiting is what changed",
          "[rmap][diff]") {
  // On-CPU time becomes 3.4 times as long, wall time about 12 times.
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 3.5;
  slow.segments[1].off_cpu_ns_per_call = 1'000'000;
  const Diff diff = Compared(Server(), slow, 5);
  const MetricChange& on_cpu = *FindTotal(diff, "on-CPU");
  REQUIRE(on_cpu.self.verdict == Verdict::kBeyondNoise);
  CHECK(on_cpu.self.after / on_cpu.self.before == Approx(3.2).margin(0.3));
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::StartsWith("server:handle is 13x slower (+") &&
                 Catch::Matchers::Contains(" wall, "));
  // A large ratio is a count, not a power of ten.
  TrueProgram stuck = Server();
  stuck.segments[1].off_cpu_ns_per_call = 50'000'000;
  CHECK_THAT(
      Compared(Server(), stuck, 5).explanations[0],
      Catch::Matchers::Matches("server:handle is 4[0-9][0-9]x slower.*"));
  // A large ratio of little wall time does not lead.
  TrueProgram outside = Server();
  outside.segments = {{"server", {"server:parse"}, 100, 10, 0, 0}};
  outside.outside_ns = 1e8;
  TrueProgram busy = outside;
  busy.segments[0].off_cpu_ns_per_call = 1000;
  busy.outside_ns = 2e8;
  CHECK_THAT(Compared(outside, busy, 5).explanations[0],
             Catch::Matchers::StartsWith("server outside its segments uses 2"));
}

TEST_CASE("compare: the recorded command leads, in English", "[rmap][diff]") {
  TrueProgram before;
  before.segments = {{"kworker", {"k:a"}, 1, 10, 0, 0},
                     {"server", {"s:a"}, 1, 10, 0, 0}};
  before.outside_ns = 1e8;
  const auto compared = [&](double part, bool marked) {
    TrueProgram after = before;
    after.outside_ns = part * 1e8;
    Random random(1);
    auto from = SimulateRuns(5, before, kLittle, random);
    auto to = SimulateRuns(5, after, kLittle, random);
    for (Report& report : to) {
      for (ProcessRow& process : report.processes) {
        process.marked = marked && process.comm == "server";
      }
    }
    return Compare(from, to, {})->explanations;
  };
  using Catch::Matchers::StartsWith;
  CHECK_THAT(compared(0.001, true)[0],
             StartsWith("server outside its segments uses almost no on-CPU"));
  CHECK_THAT(
      compared(0.6, true)[0],
      Catch::Matchers::Matches(".* uses (3[5-9]|4[0-5]) % less on-CPU .*"));
  CHECK_THAT(compared(1.4, true)[0],
             Catch::Matchers::Matches(
                 "server .* uses (3[5-9]|4[0-5]) % more on-CPU time .*"));
  const std::string second = compared(1.4, true)[1];
  CHECK_THAT(second, StartsWith("kworker outside its segments uses "));
}

TEST_CASE("compare: one run each has no verdict, and says how many runs would",
          "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 2;
  slow.segments[1].calls = 120;
  const Diff diff = Compared(Server(), slow, 1);
  CHECK_THAT(diff.explanations[0],
             Catch::Matchers::Matches(
                 "one run each: no verdict; [0-9]+ runs a side see a change of "
                 "5 % if runs deviate by 1 %, [0-9]+ if by 3 %"));
  CHECK_THAT(diff.explanations[1],
             Catch::Matchers::StartsWith("server:handle differs, 2."));
  CHECK_THAT(diff.notes[0], Catch::Matchers::StartsWith(
                                "one run each: the noise between runs is not"));
  CHECK(diff.tests == 0);
  for (const RowChange& row : diff.rows) {
    for (const MetricChange& metric : row.metrics) {
      CAPTURE(row.path, metric.metric);
      const Change& self = metric.self;
      CHECK(self.verdict == (self.value() == 0 ? Verdict::kWithinNoise
                                               : Verdict::kNoiseUnknown));
      // Calls share the luck of their run: their spread is no interval.
      CHECK_FALSE(self.interval);
      CHECK_FALSE(self.p);
      CHECK_FALSE(self.detectable);
    }
  }
}

TEST_CASE("compare: as many runs as advised see the change", "[rmap][diff]") {
  const Diff advising = Compared(Server(), Server(), 1);
  REQUIRE(advising.advice.size() == 2);
  for (const RunsNeeded& needed : advising.advice) {
    CAPTURE(needed.deviation, needed.runs);
    Random random(8);
    TrueProgram slow = Server();
    slow.segments[1].on_cpu_ns_per_call *= 1 + needed.change;
    const Noise noise{needed.deviation, 0, false, false};
    constexpr int kComparisons = 200;
    int found = 0;
    for (int i = 0; i < kComparisons; ++i) {
      const auto diff =
          Compare(SimulateRuns(needed.runs, Server(), noise, random),
                  SimulateRuns(needed.runs, slow, noise, random), {});
      REQUIRE(diff.ok());
      for (const RowChange& row : diff->rows) {
        if (row.path != slow.segments[1].path) continue;
        found += row.Find("on-CPU")->self.verdict == Verdict::kBeyondNoise;
      }
    }
    // 80 % if this number alone changes; on-CPU and wall time change together.
    CHECK(found > 0.75 * kComparisons);
  }
}

TEST_CASE("compare: events that not all traces counted are left out, and said",
          "[rmap][diff]") {
  Random random(1);
  auto before = SimulateRuns(2, Server(), kLittle, random);
  auto after = SimulateRuns(2, Server(), kLittle, random);
  after[1].events = {{.name = "cycles"}};
  const auto diff = Compare(before, after, {});
  REQUIRE(diff.ok());
  for (const RowChange& row : diff->rows) {
    CHECK(row.Find("page-faults") == nullptr);
    CHECK(row.Find("cycles") == nullptr);
  }
  CHECK_THAT(diff->notes,
             Catch::Matchers::VectorContains(std::string(
                 "cycles is left out: not all traces counted it.")));
  CHECK_THAT(diff->notes,
             Catch::Matchers::VectorContains(std::string(
                 "page-faults is left out: not all traces counted it.")));
}

TEST_CASE("compare: a value that one trace cannot say is absent, not 0",
          "[rmap][diff]") {
  Random random(1);
  const auto before = SimulateRuns(2, Server(), kLittle, random);
  auto after = SimulateRuns(2, Server(), kLittle, random);
  after[0].segment_paths[1].counts[0].reset();
  const auto diff = Compare(before, after, {});
  REQUIRE(diff.ok());
  for (const RowChange& row : diff->rows) {
    const bool is_it = row.path == before[0].segment_paths[1].path;
    CHECK((row.Find("page-faults") == nullptr) == is_it);
    CHECK(row.Find("on-CPU") != nullptr);
  }
  CHECK(diff->balances[3].after.Unexplained() == 0);
}

TEST_CASE("compare: lost hook records leave no verdict on what may be missing",
          "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 5;
  Random random(1);
  const auto before = SimulateRuns(5, Server(), kLittle, random);
  auto after = SimulateRuns(5, slow, kLittle, random);
  for (Report& report : after) {
    report.loss.discarded_events = 7;
    for (SegmentRow& row : report.segment_paths) {
      row.quality = row.on_cpu_quality = Quality::kBounded;
      row.counts[0]->quality = Quality::kBounded;
      for (const Number number :
           {Number::kCalls, Number::kWallIncl, Number::kWallExcl,
            Number::kOnCpuIncl, Number::kOnCpuExcl, Number::kOffCpuIncl,
            Number::kOffCpuExcl, CountNumber(0, CountPart::kIncl),
            CountNumber(0, CountPart::kExcl)}) {
        row.bounds.Set(number, 0, Bounds());
      }
    }
  }
  const auto diff = Compare(before, after, {});
  REQUIRE(diff.ok());
  // The segment is shown, without a claim about it.
  CHECK(diff->rows[0].path.back() == "server:handle");
  CHECK(diff->rows[0].Find("wall")->self.verdict == Verdict::kMayBeLoss);
  CHECK_THAT(diff->explanations[0],
             Catch::Matchers::StartsWith("all processes: +") &&
                 Catch::Matchers::EndsWith("no segment surely changed"));
  CHECK_THAT(diff->notes[0], Catch::Matchers::Contains("lost 7 records"));
}

}  // namespace
}  // namespace countrace::rmap::diff
