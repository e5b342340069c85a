// Multiplexed event sets at user hooks, on random programs whose truth is
// known: estimates of segments contain the truth as often as they state, a call
// cut by the end of a rotation never counts as a whole one, and always-counted
// events are exact.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::Counters;
using test_support::HookDump;
using test_support::MemoryTrace;
using test_support::PropertyRuns;

constexpr std::int32_t kPid = 100;
constexpr std::uint32_t kOuter = 4096, kInner = 4097;
// Events: one always counted, then one in each set.
constexpr std::size_t kAlways = 0, kFirst = 1, kSecond = 2;

// A thread that counts one of two sets at a time.
class Program {
 public:
  explicit Program(MemoryTrace& trace) : trace_(trace) {
    trace.mutable_info().thread_events = {"always", "first", "second"};
    trace.mutable_info().thread_set_sizes = {1, 1};
    trace.AddHook(kOuter, logformat::HookKind::kSegment, "p", "outer");
    trace.AddHook(kInner, logformat::HookKind::kSegment, "p", "inner");
  }
  std::uint32_t set = 0;
  void Rotate(std::uint32_t to) {
    set = to;
    odd_ ^= logformat::kOddRotationBit;
  }

  void Count(std::uint64_t events) {
    always_ += events;
    in_set_[set] += events;
    truth_ += events;
  }
  void Hook(std::uint32_t hook, bool exit) {
    now_ns_ += 1000;
    trace_.HookRecord(now_ns_, {kPid, kPid, hook, exit},
                      HookDump{set, 0b11 | odd_, {always_, in_set_[set]}});
  }
  std::uint64_t truth() const { return truth_; }

 private:
  MemoryTrace& trace_;
  std::uint64_t now_ns_ = 1'000'000, always_ = 0, truth_ = 0;
  std::uint64_t in_set_[2] = {};
  std::uint32_t odd_ = 0;
};

Report MustReconstruct(MemoryTrace& trace) {
  auto report = Reconstruct(trace, {});
  INFO(report.status().ToString());
  REQUIRE(report.ok());
  return *std::move(report);
}

const SegmentRow& Row(const Report& report, const std::string& segment) {
  for (const SegmentRow& row : report.segments) {
    if (row.segment == segment) return row;
  }
  FAIL("no row of " << segment);
  return report.segments.front();
}

TEST_CASE(
    "sets at user hooks: 95 % intervals hold the truth about 95 % of the "
    "time",
    "[rmap][property]") {
  int held = 0, intervals = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(600u); ++seed) {
    std::mt19937 random(seed);
    const bool instances = seed % 2 == 0;
    MemoryTrace trace;
    Program program(trace);
    std::uint64_t inner_calls = 0;
    double level = 100;
    int left = 0;  // outermost segments left in this rotation
    std::vector<std::uint32_t> round;
    for (int outer = 0; outer < 400; ++outer) {
      if (left-- <= 0) {
        // As the runtime draws them
        // (runtime/inprocess/counters/thread_rotation.h).
        if (round.empty()) {
          round = {0, 0, 1, 1};
          std::shuffle(round.begin(), round.end(), random);
        }
        program.Rotate(round.back());
        round.pop_back();
        left = instances ? 0 : static_cast<int>(random() % 10);
      }
      // Neighbours are alike: the calls of a rotation are not independent
      // draws.
      level = 20 + 0.9 * (level - 20) + static_cast<double>(random() % 30);
      program.Hook(kOuter, false);
      const auto calls = random() % 5;
      for (std::uint64_t i = 0; i < calls; ++i) {
        program.Hook(kInner, false);
        program.Count(static_cast<std::uint64_t>(level) + random() % 50);
        program.Hook(kInner, true);
        ++inner_calls;
      }
      program.Hook(kOuter, true);
    }
    const Report report = MustReconstruct(trace);
    for (const char* segment : {"p:outer", "p:inner"}) {
      CAPTURE(seed, segment);
      const SegmentRow& row = Row(report, segment);
      CHECK(row.counts[kAlways]->incl == program.truth());
      CHECK(row.counts[kAlways]->quality == Quality::kExact);
      for (const std::size_t event : {kFirst, kSecond}) {
        REQUIRE(row.counts[event]);
        CHECK(row.counts[event]->quality == Quality::kScaled);
        REQUIRE(row.counts[event]->estimate);
        REQUIRE(row.counts[event]->estimate->standard_error);
        const double error = *row.counts[event]->estimate->standard_error;
        const double off = static_cast<double>(row.counts[event]->incl) -
                           static_cast<double>(program.truth());
        ++intervals;
        if (std::abs(off) <= 1.98 * error + 0.5) ++held;
      }
    }
    CHECK(Row(report, "p:inner").calls == inner_calls);
  }
  const double percent = 100.0 * held / intervals;
  WARN("intervals at user hooks that hold the truth: " << percent << " % of "
                                                       << intervals);
  CHECK(percent > 92);
  CHECK(percent < 98);
}

TEST_CASE("sets at user hooks: a call cut by a rotation has no count",
          "[rmap]") {
  MemoryTrace trace;
  Program program(trace);
  program.Hook(kOuter, false);
  for (int i = 0; i < 30; ++i) {
    program.set =
        i / 10 % 2;  // 0, 1, 0: the outer one ends with the first again
    program.Hook(kInner, false);
    program.Count(7);
    program.Hook(kInner, true);
  }
  program.Hook(kOuter, true);
  const Report report = MustReconstruct(trace);
  const SegmentRow& outer = Row(report, "p:outer");
  CHECK(outer.counts[kAlways]->incl == 210);
  CHECK(outer.counts[kAlways]->quality == Quality::kExact);
  CHECK_FALSE(outer.counts[kFirst]);
  CHECK_FALSE(outer.counts[kSecond]);
  const SegmentRow& inner = Row(report, "p:inner");
  CHECK(inner.counts[kFirst]->incl == 210);   // 140 of 20 calls
  CHECK(inner.counts[kSecond]->incl == 210);  // 70 of 10
}

}  // namespace
}  // namespace countrace::rmap
