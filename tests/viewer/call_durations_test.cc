// Quantiles and histograms of calls, against the events that the index was
// built from.
#include "viewer/index/range/call_durations.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/viewer/index_fixture.h"

namespace countrace::viewer {

TEST_CASE("call_durations: quantiles and buckets equal brute force",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .cpus = 2, .dispatches = 2000});
  const TimelineIndex& index = *built.index;
  std::mt19937_64 random(seed);
  std::size_t with_calls = 0;
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t hook =
        index.hooks()[random() % index.hooks().size()].id;
    const auto process =
        static_cast<std::uint32_t>(random() % index.processes().size());
    TimeRange range{random() % index.duration_ns(),
                    random() % index.duration_ns()};
    if (range.end_ns < range.begin_ns) std::swap(range.begin_ns, range.end_ns);
    CAPTURE(seed, hook, process, range.begin_ns, range.end_ns);
    std::vector<std::uint64_t> truth;
    for (const TrueSegment& call : built.trace.segments) {
      const std::uint64_t begin_ns = call.begin_ns - built.begin_ns();
      if (call.hook_id != hook || begin_ns < range.begin_ns ||
          begin_ns >= range.end_ns ||
          built.trace.ProcessOf(call.thread) != process) {
        continue;
      }
      truth.push_back(call.end_ns - call.begin_ns);
    }
    std::sort(truth.begin(), truth.end());
    const auto found = DurationsIn(index, process, hook, range);
    REQUIRE(found.ok());
    CHECK(found->calls == truth.size());
    if (truth.empty()) {
      CHECK(found->buckets.empty());
      CHECK(found->max.thread == kNoKey);
      continue;
    }
    ++with_calls;
    CHECK(found->min.ns() == truth.front());
    CHECK(found->max.ns() == truth.back());
    // At most this long: half, and 99 %, of the calls, and no fewer.
    const auto check = [&truth](std::uint64_t ns, std::uint64_t percent) {
      const auto up_to = static_cast<std::uint64_t>(
          std::upper_bound(truth.begin(), truth.end(), ns) - truth.begin());
      const auto below = static_cast<std::uint64_t>(
          std::lower_bound(truth.begin(), truth.end(), ns) - truth.begin());
      CHECK(up_to * 100 >= truth.size() * percent);
      CHECK(below * 100 < truth.size() * percent);
    };
    check(found->p50.ns(), 50);
    check(found->p99.ns(), 99);
    std::uint64_t sum = 0;
    for (const DurationBucket& bucket : found->buckets) {
      sum += bucket.calls;
      CHECK(bucket.calls ==
            static_cast<std::uint64_t>(std::count_if(
                truth.begin(), truth.end(), [&bucket](std::uint64_t ns) {
                  return bucket.from_ns <= ns && ns < bucket.to_ns;
                })));
    }
    CHECK(sum == truth.size());
    // Only those of some durations.
    const std::uint64_t least_ns = truth[random() % truth.size()];
    const std::uint64_t most_ns =
        std::max(least_ns, truth[random() % truth.size()]);
    const auto some =
        DurationsIn(index, process, hook, range, {least_ns, most_ns});
    REQUIRE(some.ok());
    CHECK(some->calls ==
          static_cast<std::uint64_t>(
              std::upper_bound(truth.begin(), truth.end(), most_ns) -
              std::lower_bound(truth.begin(), truth.end(), least_ns)));
    CHECK(some->min.ns() == least_ns);
    CHECK(some->max.ns() == most_ns);
    CHECK(std::any_of(built.trace.segments.begin(), built.trace.segments.end(),
                      [&](const TrueSegment& call) {
                        return call.thread == found->max.thread &&
                               call.begin_ns - built.begin_ns() ==
                                   found->max.range.begin_ns &&
                               call.end_ns - built.begin_ns() ==
                                   found->max.range.end_ns;
                      }));
  }
  CHECK(with_calls > 10);
}

}  // namespace countrace::viewer
