// Calibration of estimates at user hooks: 95 % intervals hold the truth of
// segments that drift, burst, differ in their first call, or have always the
// same count, whenever the sets rotate. The order of sets is the runtime's own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "rmap/pipeline.h"
#include "rmap/state/call_paths.h"
#include "tests/rmap/interval_coverage.h"
#include "tests/rmap/multiplexed_thread.h"

namespace countrace::rmap {
namespace {

using test_support::IntervalCoverage;
using test_support::MemoryTrace;
using test_support::MultiplexedThread;

using Random = std::mt19937;

struct Call {
  std::uint64_t number, of;
};

std::uint64_t Poisson(double mean, Random& random) {
  return static_cast<std::uint64_t>(std::poisson_distribution(mean)(random));
}

struct Pattern {
  const char* name;
  // Events of a call.
  std::uint64_t (*events)(const Call& call, Random& random);
  // Not 0: all counts that are seen may be equal, so nothing shows the
  // variation, and the interval reaches as far as the calls that are all missed
  // in 5 % of cases, if each had so many more. It holds the truth in more than
  // 97 %.
  std::uint64_t unseen = 0;
};

constexpr Pattern kPatterns[] = {
    {"drift",
     [](const Call& call, Random& random) {
       return 1 + (8 * call.number + random() % call.of) / call.of;
     }},
    {"bursty",
     [](const Call&, Random& random) -> std::uint64_t {
       return random() % 20 == 0 ? 20 : 0;
     }},
    {"varied", [](const Call&, Random& random) { return Poisson(6, random); }},
    // Rounds of two sets that were drawn apart would see the same half.
    {"alternating",
     [](const Call& call, Random& random) {
       return Poisson(call.number % 2 == 0 ? 3 : 12, random);
     }},
    {"first call",
     [](const Call& call, Random&) -> std::uint64_t {
       return call.number == 0 ? 17 : 9;
     },
     17},
    {"steady", [](const Call&, Random&) -> std::uint64_t { return 4; }, 4},
    {"none", [](const Call&, Random&) -> std::uint64_t { return 0; }, 1},
};
constexpr std::size_t kSegments = std::size(kPatterns);
constexpr std::uint32_t kFirstHook = 4096;

struct Rotation {
  const char* name;
  std::uint64_t rotate_ns;
  std::uint64_t call_ns;  // without events
  // At least; enough that the variation exceeds what calls that were not
  // counted may add.
  std::uint64_t calls;
  std::uint32_t runs;
};

// The rows of a trace say what their estimates are, of the calls as they were.
void CheckRows(MemoryTrace& trace, const std::uint64_t (&truth)[kSegments],
               const CallSlices (&calls)[kSegments][2]) {
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  REQUIRE(report->segments.size() == kSegments);
  for (const SegmentRow& row : report->segments) {
    const auto i = static_cast<std::size_t>(
        std::find_if(std::begin(kPatterns), std::end(kPatterns),
                     [&row](const Pattern& pattern) {
                       return row.segment == std::string("p:") + pattern.name;
                     }) -
        std::begin(kPatterns));
    REQUIRE(i < kSegments);
    CAPTURE(row.segment);
    REQUIRE(row.counts[MultiplexedThread::kAlways]->incl == truth[i]);
    for (const std::size_t set : {0u, 1u}) {
      const std::size_t event = MultiplexedThread::kFirst + set;
      const auto& count = row.counts[event];
      REQUIRE(count);
      REQUIRE(count->estimate);
      const ScaledCount got = InclusiveOf(*count);
      const auto expected = EstimateCalls(calls[i][set]);
      REQUIRE(expected);
      CHECK(got.value == expected->value);
      CHECK(*got.standard_error == Approx(*expected->standard_error));
      CHECK(got.freedom == Approx(expected->freedom));
      CHECK(got.Interval95()->hi == expected->Interval95()->hi);
      // Calls that were not counted may differ: never a certain number.
      CHECK(count->quality ==
            (expected->of_unseen ? Quality::kBounded : Quality::kScaled));
      CHECK(row.qualities.Has(Quality::kScaled));
      CHECK(row.bounds.Of(CountNumber(event, CountPart::kIncl)));
    }
  }
}

// One program; adds what its rows say to `coverage`.
void AddRun(const Rotation& rotation, std::uint32_t seed,
            IntervalCoverage (&coverage)[kSegments]) {
  CAPTURE(rotation.name, seed);
  Random random(seed);
  MemoryTrace trace;
  const bool traced = seed < 10;
  MultiplexedThread thread(traced ? &trace : nullptr, rotation.rotate_ns,
                           static_cast<std::uint32_t>(random()));
  std::uint64_t truth[kSegments] = {};
  DumpSum sums[kSegments][2];
  for (std::size_t i = 0; i < kSegments; ++i) {
    trace.AddHook(kFirstHook + static_cast<std::uint32_t>(i),
                  logformat::HookKind::kSegment, "p", kPatterns[i].name);
  }
  // Not a whole number of rounds.
  const std::uint64_t calls = rotation.calls + random() % (rotation.calls / 2);
  for (std::uint64_t number = 0; number < calls; ++number) {
    for (std::size_t i = 0; i < kSegments; ++i) {
      const std::uint64_t events = kPatterns[i].events({number, calls}, random);
      thread.Enter(kFirstHook + static_cast<std::uint32_t>(i));
      thread.Run(rotation.call_ns / 2 + random() % rotation.call_ns +
                     events * rotation.call_ns / 20,
                 events);
      thread.Exit(kFirstHook + static_cast<std::uint32_t>(i));
      truth[i] += events;
      for (const std::uint32_t set : {0u, 1u}) {
        std::optional<std::uint64_t> count;
        if (thread.set() == set) count = events;
        sums[i][set].AddCall(ThreadIndex{0}, thread.turn(), 4, count);
      }
    }
  }
  CallSlices slices[kSegments][2];
  for (std::size_t i = 0; i < kSegments; ++i) {
    for (const std::size_t set : {0u, 1u}) {
      slices[i][set] = sums[i][set].Calls(calls);
      const auto scaled = EstimateCalls(slices[i][set]);
      REQUIRE(scaled);
      coverage[i].Add(*scaled, truth[i]);
      if (kPatterns[i].unseen != 0) CHECK(scaled->of_unseen);
    }
  }
  if (traced) CheckRows(trace, truth, slices);
}

TEST_CASE("calibration: intervals hold the truth of segments at user hooks",
          "[rmap][property]") {
  constexpr Rotation kRotations[] = {{"instance", 0, 5'000, 400, 1000},
                                     {"1 ms", 1'000'000, 7'500, 2000, 1000},
                                     {"5 ms", 5'000'000, 37'500, 2000, 1000}};
  for (const Rotation& rotation : kRotations) {
    IntervalCoverage coverage[kSegments];
    for (std::uint32_t seed = 0; seed < rotation.runs; ++seed) {
      AddRun(rotation, seed, coverage);
    }
    for (std::size_t i = 0; i < kSegments; ++i) {
      const Pattern& pattern = kPatterns[i];
      const IntervalCoverage& of = coverage[i];
      CAPTURE(rotation.name, pattern.name);
      of.Print((std::string(rotation.name) + ", " + pattern.name).c_str());
      CHECK(of.intervals == static_cast<int>(2 * rotation.runs));
      if (pattern.unseen == 0) {
        of.Check();
        continue;
      }
      CHECK(of.percent() >= 93);
      // Half of the calls are counted: 0.5^4.3 = 0.05. The mean of the widths
      // is above it, as is that of 1 / the counted part.
      CHECK(of.reach / of.intervals <=
            5.0 * static_cast<double>(pattern.unseen));
    }
  }
}

}  // namespace
}  // namespace countrace::rmap
