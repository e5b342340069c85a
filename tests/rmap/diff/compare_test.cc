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
  REQUIRE(diff.explanations.size() == 1);
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

TEST_CASE("compare: one run each says that noise is not known",
          "[rmap][diff]") {
  TrueProgram slow = Server();
  slow.segments[1].on_cpu_ns_per_call *= 2;
  slow.segments[1].calls = 120;
  const Diff diff = Compared(Server(), slow, 1);
  CHECK_THAT(diff.notes[0], Catch::Matchers::StartsWith(
                                "one run each: no run-to-run noise known"));
  const RowChange& handle = diff.rows[0];
  REQUIRE(handle.path.back() == "server:handle");
  CHECK(handle.Find("calls")->self.verdict == Verdict::kNoiseUnknown);
  CHECK_FALSE(handle.Find("calls")->self.interval);
  CHECK_FALSE(handle.Find("calls")->self.p);
  // The verdict comes from the spread of the calls.
  CHECK(handle.Find("wall")->self.verdict == Verdict::kBeyondNoise);
  CHECK(handle.Find("wall")->self.interval);
}

TEST_CASE("compare: events that not all traces counted are left out, and said",
          "[rmap][diff]") {
  Random random(1);
  auto before = SimulateRuns(2, Server(), kLittle, random);
  auto after = SimulateRuns(2, Server(), kLittle, random);
  after[1].events = {"cycles"};
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
  for (SegmentRow& row : after[2].segment_paths) {
    row.quality = row.on_cpu_quality = Quality::kBounded;
    row.counts[0]->quality = Quality::kBounded;
  }
  after[2].loss.discarded_events = 7;
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
