// Processes that end, and those that do not.
#include "viewer/index/rows/process_life.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "tests/viewer/index_fixture.h"
#include "tests/viewer/synthetic_trace.h"

namespace countrace::viewer {
namespace {

TEST_CASE("process_life: a process ends with the last of its threads",
          "[viewer]") {
  SyntheticTrace trace = MakeSyntheticTrace({.seed = 7, .losses = false});
  const std::size_t threads = trace.report.threads.size();
  std::vector<std::optional<std::size_t>> last(threads);
  for (std::size_t i = 0; i < trace.dispatches.size(); ++i) {
    const TrueDispatch& dispatch = trace.dispatches[i];
    if (dispatch.thread == kNoKey) continue;
    std::optional<std::size_t>& known = last[dispatch.thread];
    if (!known || trace.dispatches[*known].end_ns < dispatch.end_ns) known = i;
  }
  // Every thread of the first process ends, all but one of the second.
  std::optional<std::uint32_t> survivor;
  std::uint64_t end_ns = 0;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const std::uint32_t process = trace.ProcessOf(thread);
    if (!last[thread]) {
      REQUIRE(process > 1);
      continue;
    }
    TrueDispatch& dispatch = trace.dispatches[*last[thread]];
    dispatch.end_state = 0;
    if (process > 1) continue;
    if (process == 1 && !survivor) {
      survivor = thread;
      continue;
    }
    dispatch.end_state = logformat::kSwitchDead;
    if (process == 0) end_ns = std::max(end_ns, dispatch.end_ns);
  }
  REQUIRE(survivor);
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  const std::vector<ProcessLife> lives = ProcessLives(*built.index);
  REQUIRE(lives.size() == built.index->processes().size());
  CHECK(lives[0].ended_ns == end_ns - built.begin_ns());
  for (std::size_t i = 1; i < lives.size(); ++i) CHECK(!lives[i].ended_ns);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    std::optional<std::uint64_t> first_ns;
    for (const ThreadEntry& thread : built.index->threads()) {
      if (thread.process != i) continue;
      first_ns = std::min(first_ns.value_or(thread.first_seen_ns),
                          thread.first_seen_ns);
    }
    CHECK(lives[i].first_ns == first_ns);
  }
}

TEST_CASE("process_life: the parent is the latest of its pid that was there",
          "[viewer][property]") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    SyntheticTrace trace =
        MakeSyntheticTrace({.seed = seed, .processes = 6, .dispatches = 100});
    std::mt19937 random(seed);
    for (auto& process : trace.report.processes) {
      process.pid = static_cast<std::int32_t>(1 + random() % 4);
      process.parent_pid = static_cast<std::int32_t>(random() % 5);
    }
    const BuiltIndex built = BuildIndexOf(std::move(trace));
    const auto processes = built.index->processes();
    const std::vector<ProcessLife> lives = ProcessLives(*built.index);
    for (std::uint32_t child = 0; child < lives.size(); ++child) {
      const std::uint64_t born_ns = lives[child].first_ns.value_or(0);
      std::optional<std::uint64_t> best_ns;
      for (std::uint32_t other = 0; other < lives.size(); ++other) {
        const std::uint64_t other_ns = lives[other].first_ns.value_or(0);
        if (other != child && other_ns <= born_ns &&
            processes[other].pid == processes[child].parent_pid) {
          best_ns = std::max(best_ns.value_or(0), other_ns);
        }
      }
      const std::optional<std::uint32_t> parent = lives[child].parent;
      REQUIRE(parent.has_value() == best_ns.has_value());
      if (parent) CHECK(lives[*parent].first_ns.value_or(0) == *best_ns);
      const auto ancestors = AncestorsOf(lives, child);
      const std::set<std::uint32_t> once(ancestors.begin(), ancestors.end());
      CHECK(once.size() == ancestors.size());
      CHECK(!once.contains(child));
      CHECK(ancestors.empty() != parent.has_value());
    }
  }
}

}  // namespace
}  // namespace countrace::viewer
