// Why a thread does not run, against the events that the index was built from.
#include "viewer/index/range/wait_split.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>

#include "logformat/packet_layout.h"
#include "tests/viewer/index_fixture.h"

namespace countrace::viewer {
namespace {

const TrueDispatch* DispatchOf(const BuiltIndex& built, std::uint32_t thread,
                               std::uint64_t at_ns,
                               std::uint64_t TrueDispatch::*edge_ns) {
  for (const TrueDispatch& one : built.trace.dispatches) {
    if (one.thread == thread && one.*edge_ns == at_ns) return &one;
  }
  return nullptr;
}

// Time of each thread on `cpu` inside [begin_ns, end_ns); kNoKey: idle.
std::map<std::uint32_t, std::uint64_t> TrueHolders(const BuiltIndex& built,
                                                   std::uint32_t cpu,
                                                   std::uint64_t begin_ns,
                                                   std::uint64_t end_ns) {
  std::map<std::uint32_t, std::uint64_t> sums;
  for (const TrueDispatch& one : built.trace.dispatches) {
    if (one.cpu != cpu) continue;
    const std::uint64_t from = std::max(one.begin_ns, begin_ns);
    const std::uint64_t to = std::min(one.end_ns, end_ns);
    if (to > from) sums[one.thread] += to - from;
  }
  return sums;
}

}  // namespace

TEST_CASE("wait_split: each wait has its waker and the holders of its CPU",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .cpus = 2, .dispatches = 1500});
  std::mt19937_64 random(seed);
  std::size_t woken = 0;
  std::size_t slept = 0;
  std::size_t preempted = 0;
  std::size_t shared = 0;
  std::size_t throttled = 0;
  for (const TrueWait& wait : built.trace.waits) {
    const std::uint64_t begin_ns = wait.begin_ns - built.begin_ns();
    const std::uint64_t end_ns = wait.end_ns - built.begin_ns();
    const std::uint64_t at_ns = begin_ns + random() % (end_ns - begin_ns);
    CAPTURE(seed, wait.thread, begin_ns, end_ns, at_ns);
    const std::optional<WaitSplit> split =
        SplitWait(*built.index, wait.thread, at_ns);
    REQUIRE(split.has_value());
    CHECK((split->stretch.flags & kStateWaiting) != 0);
    CHECK(split->stretch.range.begin_ns == begin_ns);
    CHECK(split->stretch.range.end_ns == end_ns);
    if (wait.waker != kNoKey) {
      ++woken;
      CHECK(split->waker_kind == rmap::WakerKind::kThread);
      CHECK(split->waker == wait.waker);
      // The sleep before it has the same waker.
      const std::optional<WaitSplit> sleep =
          SplitWait(*built.index, wait.thread, begin_ns - 1);
      if (!sleep) continue;  // of no length
      ++slept;
      CHECK((sleep->stretch.flags & kStateBlocked) != 0);
      CHECK(sleep->waker == wait.waker);
      CHECK(sleep->holders.empty());
    } else {
      CHECK(!split->waker_kind.has_value());
    }
    // The CPU that it left, or where it ran then.
    const TrueDispatch* queued =
        DispatchOf(built, wait.thread, wait.begin_ns, &TrueDispatch::end_ns);
    if (queued == nullptr) {
      queued =
          DispatchOf(built, wait.thread, wait.end_ns, &TrueDispatch::begin_ns);
    }
    REQUIRE(queued != nullptr);
    const auto throttles = [&wait](const TrueDispatch& one) {
      return one.thread == wait.thread && one.end_ns == wait.begin_ns &&
             logformat::IsThrottled(one.end_state);
    };
    if (std::any_of(built.trace.dispatches.begin(),
                    built.trace.dispatches.end(), throttles)) {
      ++throttled;
      CHECK(split->throttled_ns == end_ns - begin_ns);
      CHECK(split->holders.empty());
      CHECK(split->preempted_by == kNoKey);
      continue;
    }
    CHECK(split->throttled_ns == 0);
    CHECK(split->cpu == queued->cpu);
    auto truth = TrueHolders(built, queued->cpu, wait.begin_ns, wait.end_ns);
    CHECK(split->idle_ns == truth[kNoKey]);
    truth.erase(kNoKey);
    std::uint64_t sum = split->others_ns + split->idle_ns + split->outside_ns +
                        split->unknown_ns;
    for (const CpuHolder& holder : split->holders) {
      CHECK(holder.ns == truth[holder.thread]);
      sum += holder.ns;
    }
    CHECK(split->holders.size() == std::min(truth.size(), kMaxHolders));
    CHECK(sum == end_ns - begin_ns);
    if (truth.size() > 1) ++shared;
    if (split->preempted_by != kNoKey) {
      ++preempted;
      CHECK(wait.waker == kNoKey);
      bool had_it = false;
      for (const TrueDispatch& one : built.trace.dispatches) {
        had_it |= one.thread == split->preempted_by &&
                  one.begin_ns <= wait.begin_ns && wait.begin_ns < one.end_ns;
      }
      CHECK(had_it);
    }
  }
  CHECK(woken > 0);
  CHECK(slept > 0);
  CHECK(preempted > 0);
  CHECK(shared > 0);
  CHECK(throttled > 0);
}

TEST_CASE("wait_split: a thread that runs, and an unknown one, have no split",
          "[viewer]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 4, .cpus = 2, .dispatches = 300});
  for (const TrueDispatch& one : built.trace.dispatches) {
    if (one.thread == kNoKey || one.begin_ns == one.end_ns) continue;
    CHECK(!SplitWait(*built.index, one.thread, one.begin_ns - built.begin_ns())
               .has_value());
  }
  CHECK(!SplitWait(*built.index, 1'000'000, 5).has_value());
  CHECK(!SplitWait(*built.index, 0, built.index->duration_ns()).has_value());
  CHECK(!SplitWait(*built.index, 0, UINT64_MAX).has_value());
}

}  // namespace countrace::viewer
