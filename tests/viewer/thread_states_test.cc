// What a thread does, in stretches, sums and tiles: against the events that the
// index was built from, and against state(t).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/tile.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {
namespace {

constexpr std::uint32_t kStates = kStateWaiting | kStateBlocked | kStateUnknown;

std::vector<std::uint32_t> RunRows(const TimelineIndex& index) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < index.rows().size(); ++i) {
    if (index.rows()[i].kind == RowKind::kThreadRun) rows.push_back(i);
  }
  return rows;
}

std::uint64_t Inside(TimeRange part, TimeRange range) {
  const std::uint64_t from = std::max(part.begin_ns, range.begin_ns);
  const std::uint64_t to = std::min(part.end_ns, range.end_ns);
  return to > from ? to - from : 0;
}

StateTimes SumOf(const std::vector<ThreadStretch>& stretches, TimeRange range) {
  StateTimes sum;
  for (const ThreadStretch& stretch : stretches) {
    const std::uint64_t ns = Inside(stretch.range, range);
    if ((stretch.flags & kStateWaiting) != 0) {
      sum.waiting_ns += ns;
    } else if ((stretch.flags & kStateBlocked) != 0) {
      sum.blocked_ns += ns;
    } else if ((stretch.flags & kStateUnknown) != 0) {
      sum.unknown_ns += ns;
    } else {
      sum.running_ns += ns;
    }
  }
  return sum;
}

// From the true events of one thread between its first and its last dispatch.
StateTimes TrueTimes(const BuiltIndex& built, std::uint32_t thread,
                     TimeRange range) {
  StateTimes sum;
  const TrueDispatch* before = nullptr;
  const auto relative = [&](std::uint64_t begin_ns, std::uint64_t end_ns) {
    return TimeRange{begin_ns - built.begin_ns(), end_ns - built.begin_ns()};
  };
  std::uint64_t off_ns = 0;
  for (const TrueDispatch& dispatch : built.trace.dispatches) {
    if (dispatch.thread != thread) continue;
    sum.running_ns +=
        Inside(relative(dispatch.begin_ns, dispatch.end_ns), range);
    if (before != nullptr) {
      const std::uint64_t ns =
          Inside(relative(before->end_ns, dispatch.begin_ns), range);
      off_ns += ns;
      if (before->end_state == logformat::kSwitchInterruptible) {
        sum.blocked_ns += ns;
      }
    }
    before = &dispatch;
  }
  for (const TrueWait& wait : built.trace.waits) {
    if (wait.thread != thread) continue;
    const std::uint64_t ns =
        Inside(relative(wait.begin_ns, wait.end_ns), range);
    sum.waiting_ns += ns;
    for (const TrueDispatch& dispatch : built.trace.dispatches) {
      // The part of a wait in which its thread was blocked before.
      if (dispatch.thread != thread || dispatch.end_ns > wait.begin_ns)
        continue;
      before = &dispatch;
    }
    if (before->end_state == logformat::kSwitchInterruptible) {
      sum.blocked_ns -= ns;
    }
  }
  sum.unknown_ns = off_ns - sum.waiting_ns - sum.blocked_ns;
  return sum;
}

void CheckEqual(const StateTimes& found, const StateTimes& expected) {
  CHECK(found.running_ns == expected.running_ns);
  CHECK(found.waiting_ns == expected.waiting_ns);
  CHECK(found.blocked_ns == expected.blocked_ns);
  CHECK(found.unknown_ns == expected.unknown_ns);
}

}  // namespace

TEST_CASE("thread_states: sums and stretches equal brute force",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .cpus = 2, .dispatches = 1200});
  const InterruptRows interrupts(*built.index);
  std::mt19937_64 random(seed);
  for (const std::uint32_t number : RunRows(*built.index)) {
    const ThreadStates states(*built.index, number, interrupts);
    const IntervalRow& row = states.dispatches();
    const std::uint64_t first_ns = row.leaf(0).begin_ns;
    const std::uint64_t last_ns = row.leaf(row.size() - 1).end_ns;
    for (int i = 0; i < 40; ++i) {
      TimeRange range{first_ns + random() % (last_ns - first_ns),
                      first_ns + random() % (last_ns - first_ns)};
      if (range.end_ns < range.begin_ns) {
        std::swap(range.begin_ns, range.end_ns);
      }
      CAPTURE(number, range.begin_ns, range.end_ns);
      const StateTimes expected = TrueTimes(built, row.entry().owner, range);
      CheckEqual(states.In(range), expected);
      const std::vector<ThreadStretch> stretches = states.Stretches(range);
      CheckEqual(SumOf(stretches, range), expected);
      for (std::size_t k = 0; k < stretches.size(); ++k) {
        // In time order; they touch the range and fill the life without holes.
        CHECK(stretches[k].range.begin_ns <= range.end_ns);
        CHECK(stretches[k].range.end_ns >= range.begin_ns);
        if (k == 0) continue;
        CHECK(stretches[k].range.begin_ns == stretches[k - 1].range.end_ns);
      }
    }
  }
}

TEST_CASE("thread_states: a stretch is what state(t) says",
          "[viewer][property]") {
  // Idle kernel threads leave in a state of their own: that they were blocked
  // shows only when something wakes them.
  const bool idle_kernel_threads = GENERATE(false, true);
  SyntheticTrace trace =
      MakeSyntheticTrace({.seed = 9, .cpus = 2, .dispatches = 800});
  for (TrueDispatch& dispatch : trace.dispatches) {
    if (idle_kernel_threads &&
        dispatch.end_state == logformat::kSwitchInterruptible) {
      dispatch.end_state = logformat::kSwitchOther;
    }
  }
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  const InterruptRows interrupts(*built.index);
  std::mt19937_64 random(9);
  CAPTURE(idle_kernel_threads);
  std::vector<const char*> seen;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t at_ns = random() % built.index->duration_ns();
    const InstantState state = StateAt(
        *built.index, at_ns, {.threads = StateThreads::kAll, .window_ns = 0});
    for (const std::uint32_t number : RunRows(*built.index)) {
      const std::uint32_t thread = built.index->rows()[number].owner;
      const auto found = std::find_if(
          state.threads.begin(), state.threads.end(),
          [&](const ThreadState& one) { return one.thread == thread; });
      const std::vector<ThreadStretch> stretches =
          ThreadStates(*built.index, number, interrupts)
              .Stretches({at_ns, at_ns + 1});
      CAPTURE(at_ns, thread);
      if (found == state.threads.end()) continue;
      const auto covering = std::find_if(
          stretches.begin(), stretches.end(), [&](const ThreadStretch& one) {
            return one.range.begin_ns <= at_ns && at_ns < one.range.end_ns;
          });
      if (covering == stretches.end()) continue;  // before it was first seen
      switch (found->state) {
        case RunState::kRunning:
          CHECK((covering->flags & kStates) == 0);
          CHECK(covering->key == found->cpu);
          break;
        case RunState::kWaiting:
          CHECK((covering->flags & kStates) == kStateWaiting);
          CHECK((covering->flags & kStateThrottled) == 0);
          break;
        case RunState::kThrottled:
          CHECK((covering->flags & kStates) == kStateWaiting);
          CHECK((covering->flags & kStateThrottled) != 0);
          break;
        case RunState::kBlocked: {
          CHECK((covering->flags & kStates) == kStateBlocked);
          const std::uint32_t call =
              found->open.empty() ? kNoKey : found->open.back().hook_id;
          // A segment may begin in the middle of it.
          if (found->open.empty() ||
              found->open.back().begin_ns < covering->range.begin_ns) {
            CHECK((covering->key == call || found->open.empty()));
          }
          break;
        }
        default:
          CHECK((covering->flags & kStates) == kStateUnknown);
      }
      seen.push_back(RunStateName(found->state));
    }
  }
  for (const RunState state : {RunState::kRunning, RunState::kWaiting,
                               RunState::kThrottled, RunState::kBlocked}) {
    CHECK(std::count(seen.begin(), seen.end(),
                     std::string_view(RunStateName(state))) > 0);
  }
}

TEST_CASE("tile: states of a thread are its time in each",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 3, .cpus = 2, .processes = 2, .dispatches = 6000});
  const InterruptRows interrupts(*built.index);
  std::size_t listed = 0;
  std::size_t merged = 0;
  for (const std::uint32_t number : RunRows(*built.index)) {
    const ThreadStates states(*built.index, number, interrupts);
    for (std::uint32_t level = 0; level < 30; ++level) {
      auto bytes = BuildTile(*built.index,
                             {.row = number, .level = level, .index = 0}, 0);
      REQUIRE(bytes.ok());
      TileHeader header;
      std::memcpy(&header, bytes->data(), sizeof(header));
      if (header.kind == TileKind::kItems) {
        ++listed;
        CHECK(header.items <= kMaxStateItems);
        continue;
      }
      ++merged;
      REQUIRE(header.kind == TileKind::kStates);
      std::vector<StatesColumn> columns(header.columns);
      std::memcpy(columns.data(), bytes->data() + sizeof(header),
                  columns.size() * sizeof(StatesColumn));
      for (std::uint64_t i = 0; i < columns.size(); i += 11) {
        TimeRange range{i << level, (i + 1) << level};
        range.end_ns = std::min(range.end_ns, built.index->duration_ns());
        if (range.begin_ns >= range.end_ns) break;
        const StateTimes times = SumOf(states.Stretches(range), range);
        const auto width = static_cast<double>(range.end_ns - range.begin_ns);
        const auto share = [&](std::uint64_t ns) {
          return Approx(static_cast<double>(ns) / width).margin(1.01 / 255);
        };
        CAPTURE(number, level, i);
        CHECK(columns[i].running / 255.0 == share(times.running_ns));
        CHECK(columns[i].waiting / 255.0 == share(times.waiting_ns));
        CHECK(columns[i].blocked / 255.0 == share(times.blocked_ns));
        CHECK(columns[i].unknown / 255.0 == share(times.unknown_ns));
      }
    }
  }
  CHECK(listed > 0);
  CHECK(merged > 0);
}

TEST_CASE("tile: a process is the sum of its threads, the machine of its CPUs",
          "[viewer][property]") {
  const auto dispatches = GENERATE(500u, 9000u);
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 5, .cpus = 2, .processes = 3, .dispatches = dispatches});
  const TimelineIndex& index = *built.index;
  const std::uint64_t begin_ns = built.begin_ns();
  const auto columns_of = [&](std::uint32_t row, std::uint32_t level,
                              std::uint64_t tile, auto column) {
    const auto bytes =
        BuildTile(index, {.row = row, .level = level, .index = tile}, 0);
    REQUIRE(bytes.ok());
    std::vector<decltype(column)> columns(kTileColumns);
    REQUIRE(bytes->size() ==
            sizeof(TileHeader) + columns.size() * sizeof(column));
    std::memcpy(columns.data(), bytes->data() + sizeof(TileHeader),
                columns.size() * sizeof(column));
    return columns;
  };
  std::mt19937_64 random(5);
  for (const std::uint32_t level : {10u, 16u, 20u}) {
    const std::uint64_t tile =
        random() % (index.duration_ns() / (std::uint64_t{512} << level) + 1);
    const auto machine =
        columns_of(MachineRowNumber(index), level, tile, SharesColumn{});
    std::vector<std::vector<ThreadsColumn>> processes;
    for (std::uint32_t i = 0; i < index.processes().size(); ++i) {
      processes.push_back(columns_of(MachineRowNumber(index) + 1 + i, level,
                                     tile, ThreadsColumn{}));
    }
    for (std::uint64_t i = 0; i < kTileColumns; i += 7) {
      TimeRange range{(tile * kTileColumns + i) << level,
                      (tile * kTileColumns + i + 1) << level};
      range.end_ns = std::min(range.end_ns, index.duration_ns());
      if (range.begin_ns >= range.end_ns) break;
      CAPTURE(dispatches, level, tile, i);
      const auto width = static_cast<double>(range.end_ns - range.begin_ns);
      std::vector<double> running(processes.size()), waiting(running),
          begins(running);
      double busy = 0;
      double idle = 0;
      for (const TrueDispatch& one : built.trace.dispatches) {
        const TimeRange span{one.begin_ns - begin_ns, one.end_ns - begin_ns};
        const auto ns = static_cast<double>(Inside(span, range));
        if (one.thread == kNoKey) {
          idle += ns;
          continue;
        }
        busy += ns;
        const std::uint32_t process = built.trace.ProcessOf(one.thread);
        running[process] += ns;
        begins[process] +=
            range.begin_ns <= span.begin_ns && span.begin_ns < range.end_ns;
      }
      for (const TrueWait& one : built.trace.waits) {
        waiting[built.trace.ProcessOf(one.thread)] += static_cast<double>(
            Inside({one.begin_ns - begin_ns, one.end_ns - begin_ns}, range));
      }
      for (std::size_t k = 0; k < processes.size(); ++k) {
        CAPTURE(k);
        const ThreadsColumn& column = processes[k][i];
        CHECK(column.running == Approx(running[k] / width).margin(1e-6));
        CHECK(column.waiting == Approx(waiting[k] / width).margin(1e-6));
        CHECK(column.dispatches == begins[k]);
      }
      const SharesColumn& all = machine[i];
      double shown = all.other;
      for (const std::uint8_t share : all.shares) shown += share;
      CHECK(shown / 255 == Approx(busy / width / 2).margin(5.01 / 255));
      CHECK(all.idle / 255.0 == Approx(idle / width / 2).margin(1.01 / 255));
    }
  }
}

}  // namespace countrace::viewer
