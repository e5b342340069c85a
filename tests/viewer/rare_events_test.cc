// Longest calls and hits by column, against the events that the index was built
// from.
#include "viewer/index/range/rare_events.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/viewer/index_fixture.h"

namespace countrace::viewer {

TEST_CASE("rare_events: the longest call of each segment",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .dispatches = 2000});
  std::map<std::uint32_t, std::uint64_t> truth;
  for (const TrueSegment& call : built.trace.segments) {
    std::uint64_t& longest = truth[call.hook_id];
    longest = std::max(longest, call.end_ns - call.begin_ns);
  }
  const std::vector<LongestCall> calls = LongestCalls(*built.index);
  CHECK(calls.size() == truth.size());
  std::uint64_t last_ns = ~std::uint64_t{0};
  for (const LongestCall& longest : calls) {
    CHECK(longest.call.ns() == truth[longest.hook]);
    CHECK(longest.call.ns() <= last_ns);
    last_ns = longest.call.ns();
    CHECK(std::any_of(built.trace.segments.begin(), built.trace.segments.end(),
                      [&](const TrueSegment& call) {
                        return call.thread == longest.call.thread &&
                               call.hook_id == longest.hook &&
                               call.begin_ns - built.begin_ns() ==
                                   longest.call.range.begin_ns;
                      }));
  }
}

TEST_CASE("rare_events: hits by column equal brute force",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .dispatches = 2000});
  const TimelineIndex& index = *built.index;
  std::mt19937_64 random(seed);
  std::size_t with_hits = 0;
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t hook =
        index.hooks()[random() % index.hooks().size()].id;
    TimeRange range{random() % index.duration_ns(),
                    random() % index.duration_ns()};
    if (range.end_ns < range.begin_ns) std::swap(range.begin_ns, range.end_ns);
    const std::size_t columns = 1 + random() % 50;
    CAPTURE(seed, hook, range.begin_ns, range.end_ns, columns);
    std::vector<std::uint64_t> truth;
    const auto add = [&](std::uint32_t id, std::uint64_t time_ns) {
      time_ns -= built.begin_ns();
      if (id != hook || time_ns < range.begin_ns || time_ns >= range.end_ns) {
        return;
      }
      truth.push_back(time_ns);
    };
    for (const TrueSegment& call : built.trace.segments) {
      add(call.hook_id, call.begin_ns);
    }
    for (const TrueHook& hit : built.trace.hooks) {
      add(hit.hook_id, hit.time_ns);
    }
    std::sort(truth.begin(), truth.end());
    const auto found = HitsIn(index, hook, range, columns);
    REQUIRE(found.ok());
    CHECK(found->size() <= columns);
    std::uint64_t sum = 0;
    for (const HitsColumn& column : *found) {
      REQUIRE(sum < truth.size());
      CHECK(column.first_ns == truth[sum]);
      sum += column.hits;
    }
    CHECK(sum == truth.size());
    if (!truth.empty()) ++with_hits;
  }
  CHECK(with_hits > 10);
}

}  // namespace countrace::viewer
