// The index against brute force over the events it was built from.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/viewer/index_fixture.h"
#include "viewer/index/file/interval_summary.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/nearest_step.h"
#include "viewer/index/instant/tile.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/rows/counter_row.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {
namespace {

std::uint64_t Overlap(std::uint64_t begin_ns, std::uint64_t end_ns,
                      TimeRange range) {
  const std::uint64_t from = std::max(begin_ns, range.begin_ns);
  const std::uint64_t to = std::min(end_ns, range.end_ns);
  return to > from ? to - from : 0;
}

// Ranges of every size, also empty and beyond the end.
TimeRange RandomRange(std::mt19937_64& random, std::uint64_t duration_ns) {
  const std::uint64_t from = random() % (duration_ns + 2);
  const std::uint64_t size =
      random() % (std::uint64_t{2} << (random() % 30)) + random() % 2;
  return {from, from + size};
}

std::vector<std::uint32_t> RowsOf(const TimelineIndex& index, RowKind kind) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < index.rows().size(); ++i) {
    if (index.rows()[i].kind == kind) rows.push_back(i);
  }
  return rows;
}

// Dispatches of one CPU in relative time.
std::vector<TrueDispatch> OnCpu(const BuiltIndex& built, std::uint32_t cpu) {
  std::vector<TrueDispatch> list;
  for (TrueDispatch dispatch : built.trace.dispatches) {
    if (dispatch.cpu != cpu) continue;
    dispatch.begin_ns -= built.begin_ns();
    dispatch.end_ns -= built.begin_ns();
    list.push_back(dispatch);
  }
  return list;
}

struct BruteSummary {
  std::uint64_t busy_ns = 0, idle_ns = 0, count = 0;
  std::map<std::uint32_t, std::uint64_t> by_process;
};

BruteSummary Brute(const BuiltIndex& built,
                   const std::vector<TrueDispatch>& dispatches,
                   TimeRange range) {
  BruteSummary sum;
  for (const TrueDispatch& dispatch : dispatches) {
    const bool touches = dispatch.begin_ns < range.end_ns &&
                         (dispatch.end_ns > range.begin_ns ||
                          dispatch.begin_ns >= range.begin_ns);
    if (!touches || range.begin_ns >= range.end_ns) continue;
    const std::uint64_t ns = Overlap(dispatch.begin_ns, dispatch.end_ns, range);
    if (dispatch.thread == kNoKey) {
      sum.idle_ns += ns;
    } else {
      sum.busy_ns += ns;
      ++sum.count;
      sum.by_process[built.trace.ProcessOf(dispatch.thread)] += ns;
    }
  }
  return sum;
}

// A share of 255 of `width_ns`: at least 1 if anything is there.
void CheckShare(std::uint8_t share, std::uint64_t ns, std::uint64_t width_ns) {
  CHECK(share / 255.0 ==
        Approx(static_cast<double>(ns) / static_cast<double>(width_ns))
            .margin(1.01 / 255));
  CHECK((share > 0) == (ns > 0));
}

// `width_ns`: of the column, inside the trace.
void CheckShares(const SharesColumn& column, const BruteSummary& brute,
                 std::uint64_t width_ns) {
  CHECK(column.count == std::min<std::uint64_t>(brute.count, 0xffff));
  CHECK(((column.flags & kColumnMerged) != 0) == (brute.count > 1));
  CHECK(((column.flags & kColumnGap) != 0) ==
        (brute.busy_ns + brute.idle_ns < width_ns));
  CheckShare(column.idle, brute.idle_ns, width_ns);
  CHECK(column.outside == 0);
  // The trace has four processes: no key is missing, no share is too low.
  int busy = column.other;
  std::uint8_t before = 255;
  for (std::size_t k = 0; k < kSketchEntries; ++k) {
    if (column.keys[k] == kNoKey) {
      CHECK(column.shares[k] == 0);
      continue;
    }
    const auto found = brute.by_process.find(column.keys[k]);
    REQUIRE(found != brute.by_process.end());
    CHECK(column.shares[k] <= before);
    before = column.shares[k];
    busy += column.shares[k];
    if (found->second > 0) {
      CheckShare(column.shares[k], found->second, width_ns);
    }
  }
  CHECK(column.other <= 1);
  CHECK(busy / 255.0 == Approx(static_cast<double>(brute.busy_ns) /
                               static_cast<double>(width_ns))
                            .margin(4.0 / 255));
}

std::string Key(std::uint32_t a, std::uint32_t b) {
  return std::to_string(a) + "/" + std::to_string(b);
}

}  // namespace

TEST_CASE("interval_row: any range adds up as brute force does",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = seed, .cpus = seed, .dispatches = 1500 * seed});
  std::mt19937_64 random(seed);
  for (const std::uint32_t number : RowsOf(*built.index, RowKind::kCpu)) {
    const IntervalRow row(*built.index, number);
    const std::vector<TrueDispatch> truth = OnCpu(built, row.entry().owner);
    for (int i = 0; i < 200; ++i) {
      const TimeRange range = RandomRange(random, built.index->duration_ns());
      CAPTURE(number, range.begin_ns, range.end_ns);
      const IntervalNode node = row.Summary(range);
      const BruteSummary brute = Brute(built, truth, range);
      REQUIRE(node.busy_ns == brute.busy_ns);
      REQUIRE(node.idle_ns == brute.idle_ns);
      REQUIRE(node.count == brute.count);
      // The dominant process is not beaten by more than the sketch's bound.
      std::uint64_t most = 0;
      for (const auto& [process, ns] : brute.by_process) {
        most = std::max(most, ns);
      }
      if (brute.busy_ns > 0) {
        const auto top = brute.by_process.find(SketchTop(node.sketch));
        REQUIRE(top != brute.by_process.end());
        // Floats add rounding on top of the bound.
        REQUIRE(static_cast<double>(top->second) >=
                static_cast<double>(most) -
                    static_cast<double>(brute.busy_ns) / 5 * 1.001 - 2);
      }
    }
  }
}

TEST_CASE("interval_row: columns of every level sum up to the whole",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 5, .dispatches = 3000});
  for (const std::uint32_t number : RowsOf(*built.index, RowKind::kCpu)) {
    const IntervalRow row(*built.index, number);
    const IntervalNode whole = row.Summary({0, built.index->duration_ns() + 1});
    for (std::uint32_t level = 12; level < 30; level += 3) {
      const std::uint64_t column_ns = std::uint64_t{1} << level;
      IntervalNode sum = EmptyNode();
      std::uint64_t touched = 0;
      std::uint64_t hint = 0;
      for (std::uint64_t at = 0; at <= built.index->duration_ns();
           at += column_ns) {
        const IntervalNode node = row.Summary({at, at + column_ns}, &hint);
        touched += node.count;
        sum = MergeNodes(sum, node);
      }
      CAPTURE(level);
      CHECK(sum.busy_ns == whole.busy_ns);
      CHECK(sum.idle_ns == whole.idle_ns);
      CHECK(touched >= whole.count);
    }
  }
}

TEST_CASE("tile: shares and items agree with brute force at every level",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 6, .dispatches = 6000});
  std::mt19937_64 random(6);
  bool saw_columns = false;
  bool saw_items = false;
  for (const std::uint32_t number : RowsOf(*built.index, RowKind::kCpu)) {
    const std::vector<TrueDispatch> truth =
        OnCpu(built, built.index->rows()[number].owner);
    for (std::uint32_t level = 0; level < 30; ++level) {
      const std::uint64_t tiles =
          built.index->duration_ns() / (std::uint64_t{kTileColumns} << level) +
          1;
      const std::uint64_t tile_number = random() % tiles;
      auto bytes =
          BuildTile(*built.index,
                    {.row = number, .level = level, .index = tile_number}, 9);
      REQUIRE(bytes.ok());
      REQUIRE(bytes->size() <=
              sizeof(TileHeader) + kTileColumns * sizeof(SharesColumn));
      TileHeader header;
      std::memcpy(&header, bytes->data(), sizeof(header));
      CAPTURE(level, tile_number);
      CHECK(header.bytes == bytes->size());
      CHECK(header.generation == 9);
      const std::uint64_t begin_ns =
          tile_number * (std::uint64_t{kTileColumns} << level);
      const std::uint64_t width_ns = std::uint64_t{1} << level;
      if (header.kind == TileKind::kItems) {
        saw_items = true;
        std::vector<TileItem> items(header.items);
        std::memcpy(items.data(), bytes->data() + sizeof(header),
                    items.size() * sizeof(TileItem));
        std::size_t at = 0;
        for (const TrueDispatch& dispatch : truth) {
          const bool touches =
              dispatch.begin_ns < begin_ns + kTileColumns * width_ns &&
              (dispatch.end_ns > begin_ns || dispatch.begin_ns >= begin_ns);
          if (!touches) continue;
          REQUIRE(at < items.size());
          CHECK(items[at].begin_ns == static_cast<double>(dispatch.begin_ns));
          CHECK(items[at].end_ns == static_cast<double>(dispatch.end_ns));
          CHECK(items[at].key == dispatch.thread);
          ++at;
        }
        CHECK(at == items.size());
        continue;
      }
      saw_columns = true;
      REQUIRE(header.kind == TileKind::kShares);
      std::vector<SharesColumn> columns(kTileColumns);
      std::memcpy(columns.data(), bytes->data() + sizeof(header),
                  columns.size() * sizeof(SharesColumn));
      for (std::uint32_t i = 0; i < kTileColumns; i += 7) {
        const TimeRange range{begin_ns + i * width_ns,
                              begin_ns + (i + 1) * width_ns};
        if (range.begin_ns >= built.index->duration_ns()) break;
        CAPTURE(i);
        CheckShares(columns[i], Brute(built, truth, range),
                    std::min(range.end_ns, built.index->duration_ns()) -
                        range.begin_ns);
      }
    }
  }
  CHECK(saw_columns);
  CHECK(saw_items);
}

TEST_CASE("range_totals: processes and idle equal brute force",
          "[viewer][property]") {
  const auto seed = GENERATE(11u, 12u, 13u);
  CAPTURE(seed);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .cpus = 3, .dispatches = 2500});
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    TimeRange range = RandomRange(random, built.index->duration_ns());
    range.end_ns = std::min(range.end_ns, built.index->duration_ns() - 1);
    range.begin_ns = std::min(range.begin_ns, range.end_ns);
    CAPTURE(range.begin_ns, range.end_ns);
    const RangeTotals totals = TotalsIn(*built.index, range);
    struct Sum {
      std::uint64_t on_cpu_ns = 0, dispatches = 0;
      double counts[kSyntheticEvents] = {};
      std::uint64_t cuts = 0;
      // Counts of whole dispatches, and of all that touch the range.
      std::uint64_t least[kSyntheticEvents] = {}, most[kSyntheticEvents] = {};
    };
    std::map<std::uint32_t, Sum> brute;
    for (const TrueDispatch& truth : built.trace.dispatches) {
      const std::uint64_t begin_ns = truth.begin_ns - built.begin_ns();
      const std::uint64_t end_ns = truth.end_ns - built.begin_ns();
      Sum& sum =
          brute[truth.thread == kNoKey ? kNoKey
                                       : built.trace.ProcessOf(truth.thread)];
      const std::uint64_t inside_ns = Overlap(begin_ns, end_ns, range);
      const bool begins_inside =
          begin_ns >= range.begin_ns && begin_ns < range.end_ns;
      sum.on_cpu_ns += inside_ns;
      if (begins_inside) ++sum.dispatches;
      const double share = end_ns == begin_ns
                               ? (begins_inside ? 1.0 : 0.0)
                               : static_cast<double>(inside_ns) /
                                     static_cast<double>(end_ns - begin_ns);
      if (share != 0 && share != 1) ++sum.cuts;
      for (std::size_t e = 0; e < kSyntheticEvents; ++e) {
        sum.counts[e] += share * static_cast<double>(truth.counts[e]);
        if (share == 1) sum.least[e] += truth.counts[e];
        if (share != 0) sum.most[e] += truth.counts[e];
      }
    }
    const auto check = [&built](const RunTotals& run, const Sum& sum) {
      CHECK(run.on_cpu_ns == sum.on_cpu_ns);
      CHECK(run.dispatches == sum.dispatches);
      for (std::size_t e = 0; e < kSyntheticEvents; ++e) {
        CHECK(run.counts[e] >= sum.least[e]);
        CHECK(run.counts[e] <= sum.most[e]);
        if (built.index->RuleOf(static_cast<std::uint32_t>(e)) !=
            CountRule::kSpread) {
          continue;
        }
        // Cut dispatches are rounded down to whole events.
        CHECK(
            static_cast<double>(run.counts[e]) ==
            Approx(sum.counts[e]).margin(static_cast<double>(sum.cuts) + 1e-6));
      }
    };
    check(totals.idle, brute[kNoKey]);
    std::uint64_t known_ns = totals.idle.on_cpu_ns;
    for (const ProcessTotals& row : totals.processes) {
      check(row.run, brute[row.process]);
      known_ns += row.run.on_cpu_ns;
    }
    // Nothing is missing and nothing is counted twice.
    CHECK(known_ns + totals.unknown_ns == totals.cpu_ns);
  }
}

TEST_CASE("range_totals: disjoint ranges add up, the whole equals the report",
          "[viewer][property]") {
  const auto seed = GENERATE(21u, 22u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .dispatches = 4000});
  std::mt19937_64 random(seed);
  const std::uint64_t duration_ns = built.index->duration_ns();
  const RangeTotals whole = TotalsIn(*built.index, {0, duration_ns});
  std::map<std::uint32_t, std::uint64_t> reported;
  for (const rmap::ProcessRow& row : built.trace.report.processes) {
    reported[static_cast<std::uint32_t>(row.index)] = *row.on_cpu_ns;
  }
  REQUIRE(whole.processes.size() == reported.size());
  for (const ProcessTotals& row : whole.processes) {
    CHECK(row.run.on_cpu_ns == reported[row.process]);
    CHECK(std::ranges::all_of(row.run.marks, [](CountMark mark) {
      return mark == CountMark::kExact;
    }));
  }
  std::uint64_t calls = 0;
  for (const SegmentTotals& row : whole.segments) calls += row.calls;
  CHECK(calls == built.trace.segments.size());
  std::uint64_t hits = 0;
  for (const HookTotals& row : whole.hooks) hits += row.hits;
  CHECK(hits == built.trace.hooks.size());

  std::vector<std::uint64_t> cuts{0, duration_ns};
  for (int i = 0; i < 9; ++i) cuts.push_back(random() % duration_ns);
  std::sort(cuts.begin(), cuts.end());
  std::map<std::uint32_t, RunTotals> runs;
  std::map<std::string, SegmentTotals> segments;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const RangeTotals part = TotalsIn(*built.index, {cuts[i], cuts[i + 1]});
    for (const ProcessTotals& row : part.processes) {
      RunTotals& sum = runs[row.process];
      sum.on_cpu_ns += row.run.on_cpu_ns;
      sum.dispatches += row.run.dispatches;
      sum.counts.resize(kSyntheticEvents);
      for (std::size_t e = 0; e < kSyntheticEvents; ++e) {
        sum.counts[e] += row.run.counts[e];
      }
    }
    for (const SegmentTotals& row : part.segments) {
      SegmentTotals& sum = segments[Key(row.process, row.hook_id)];
      sum.calls += row.calls;
      sum.wall_incl_ns += row.wall_incl_ns;
      sum.wall_excl_ns += row.wall_excl_ns;
      sum.on_cpu_incl_ns += row.on_cpu_incl_ns;
      sum.on_cpu_excl_ns += row.on_cpu_excl_ns;
    }
  }
  for (const ProcessTotals& row : whole.processes) {
    CHECK(runs[row.process].on_cpu_ns == row.run.on_cpu_ns);
    CHECK(runs[row.process].dispatches == row.run.dispatches);
    CHECK(runs[row.process].counts == row.run.counts);
  }
  for (const SegmentTotals& row : whole.segments) {
    const SegmentTotals& sum = segments[Key(row.process, row.hook_id)];
    CAPTURE(row.process, row.hook_id);
    CHECK(sum.calls == row.calls);
    CHECK(sum.wall_incl_ns == row.wall_incl_ns);
    CHECK(sum.wall_excl_ns == row.wall_excl_ns);
    CHECK(sum.on_cpu_incl_ns == row.on_cpu_incl_ns);
    CHECK(sum.on_cpu_excl_ns == row.on_cpu_excl_ns);
  }
}

TEST_CASE("range_totals: segments equal brute force", "[viewer][property]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 31, .dispatches = 2000, .max_depth = 5});
  std::mt19937_64 random(31);
  // Calls inside one of the same hook: in no inclusive time.
  std::vector<bool> is_inner;
  for (const TrueSegment& call : built.trace.segments) {
    is_inner.push_back(std::any_of(
        built.trace.segments.begin(), built.trace.segments.end(),
        [&call](const TrueSegment& other) {
          return other.thread == call.thread && other.hook_id == call.hook_id &&
                 other.depth < call.depth && other.begin_ns <= call.begin_ns &&
                 other.end_ns >= call.end_ns;
        }));
  }
  for (int i = 0; i < 40; ++i) {
    TimeRange range = RandomRange(random, built.index->duration_ns());
    range.end_ns = std::min(range.end_ns, built.index->duration_ns() - 1);
    range.begin_ns = std::min(range.begin_ns, range.end_ns);
    CAPTURE(range.begin_ns, range.end_ns);
    struct Sum {
      std::uint64_t calls = 0, incl_ns = 0;
      std::int64_t excl_ns = 0;
    };
    std::map<std::string, Sum> brute;
    for (const TrueSegment& truth : built.trace.segments) {
      const std::uint64_t begin_ns = truth.begin_ns - built.begin_ns();
      const std::uint64_t end_ns = truth.end_ns - built.begin_ns();
      const std::uint32_t process = built.trace.ProcessOf(truth.thread);
      Sum& sum = brute[Key(process, truth.hook_id)];
      const std::uint64_t inside_ns = Overlap(begin_ns, end_ns, range);
      if (begin_ns >= range.begin_ns && begin_ns < range.end_ns) ++sum.calls;
      const auto number =
          static_cast<std::size_t>(&truth - built.trace.segments.data());
      if (!is_inner[number]) sum.incl_ns += inside_ns;
      sum.excl_ns += static_cast<std::int64_t>(inside_ns);
    }
    // Own time: without the time of the calls one level deeper.
    for (const TrueSegment& child : built.trace.segments) {
      if (child.depth == 0 || child.begin_ns == child.end_ns) continue;
      for (const TrueSegment& parent : built.trace.segments) {
        if (parent.thread != child.thread || parent.depth + 1 != child.depth ||
            parent.begin_ns > child.begin_ns || parent.end_ns < child.end_ns) {
          continue;
        }
        brute[Key(built.trace.ProcessOf(parent.thread), parent.hook_id)]
            .excl_ns -= static_cast<std::int64_t>(
            Overlap(child.begin_ns - built.begin_ns(),
                    child.end_ns - built.begin_ns(), range));
        break;
      }
    }
    std::size_t rows = 0;
    for (const SegmentTotals& row : TotalsIn(*built.index, range).segments) {
      const Sum& sum = brute[Key(row.process, row.hook_id)];
      CAPTURE(row.process, row.hook_id);
      CHECK(row.calls == sum.calls);
      CHECK(row.wall_incl_ns == sum.incl_ns);
      CHECK(static_cast<std::int64_t>(row.wall_excl_ns) == sum.excl_ns);
      CHECK(row.on_cpu_incl_ns <= row.wall_incl_ns);
      ++rows;
    }
    for (const auto& [key, sum] : brute) {
      if (sum.calls == 0 && sum.incl_ns == 0) continue;
      CHECK(rows-- > 0);
    }
    CHECK(rows == 0);
  }
}

TEST_CASE("instant_state: equals brute force at random instants and at edges",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 41, .cpus = 3});
  std::mt19937_64 random(41);
  for (int i = 0; i < 300; ++i) {
    std::uint64_t at_ns = random() % built.index->duration_ns();
    if (i % 3 == 0) {
      const auto& any =
          built.trace.dispatches[random() % built.trace.dispatches.size()];
      at_ns = any.begin_ns - built.begin_ns();
    }
    CAPTURE(at_ns);
    const InstantState state = StateAt(*built.index, at_ns);
    const std::uint64_t absolute_ns = at_ns + built.begin_ns();
    std::map<std::uint32_t, const TrueDispatch*> running;
    for (const TrueDispatch& truth : built.trace.dispatches) {
      if (truth.begin_ns <= absolute_ns && absolute_ns < truth.end_ns) {
        running[truth.cpu] = &truth;
      }
    }
    REQUIRE(state.cpus.size() == 3);
    for (const CpuState& cpu : state.cpus) {
      REQUIRE(cpu.known == running.contains(cpu.cpu));
      if (!cpu.known) continue;
      CHECK(cpu.thread == running[cpu.cpu]->thread);
      CHECK(cpu.begin_ns == running[cpu.cpu]->begin_ns - built.begin_ns());
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> open;
    for (const TrueSegment& truth : built.trace.segments) {
      if (truth.begin_ns <= absolute_ns && absolute_ns < truth.end_ns) {
        std::vector<std::uint32_t>& stack = open[truth.thread];
        if (stack.size() <= truth.depth) stack.resize(truth.depth + 1);
        stack[truth.depth] = truth.hook_id;
      }
    }
    std::set<std::uint32_t> listed;
    for (const ThreadState& thread : state.threads) {
      listed.insert(thread.thread);
      if (!open.contains(thread.thread)) {
        CHECK((thread.state == RunState::kRunning ||
               thread.state == RunState::kWaiting ||
               thread.state == RunState::kThrottled));
      }
      std::vector<std::uint32_t> stack;
      for (const OpenSegment& segment : thread.open) {
        stack.push_back(segment.hook_id);
      }
      CHECK(stack == open[thread.thread]);
    }
    for (const auto& [thread, stack] : open) CHECK(listed.contains(thread));
    for (const auto& [cpu, truth] : running) {
      CHECK((truth->thread == kNoKey || listed.contains(truth->thread)));
    }
  }
}

TEST_CASE("counter_row: totals and rates equal brute force",
          "[viewer][property]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 51, .dispatches = 3000});
  std::mt19937_64 random(51);
  for (const std::uint32_t number : RowsOf(*built.index, RowKind::kCounter)) {
    const CounterRow row(*built.index, number);
    std::vector<TrueDump> dumps;
    for (TrueDump dump : built.trace.dumps) {
      if (dump.cpu != row.cpu()) continue;
      dump.time_ns -= built.begin_ns();
      dumps.push_back(dump);
    }
    for (int i = 0; i < 150; ++i) {
      const TimeRange range = RandomRange(random, dumps.back().time_ns - 1);
      const auto event = static_cast<std::uint32_t>(random() % 3);
      CAPTURE(event, range.begin_ns, range.end_ns);
      if (range.begin_ns == range.end_ns) continue;
      double min = 0;
      double max = 0;
      bool known = false;
      double total = 0;
      for (std::size_t step = 0; step + 1 < dumps.size(); ++step) {
        const TrueDump& a = dumps[step];
        const TrueDump& b = dumps[step + 1];
        const auto delta =
            static_cast<double>(b.values[event] - a.values[event]);
        if (b.time_ns <= range.begin_ns) total += delta;
        if (a.time_ns < range.begin_ns && range.begin_ns < b.time_ns) {
          total += delta * static_cast<double>(range.begin_ns - a.time_ns) /
                   static_cast<double>(b.time_ns - a.time_ns);
        }
        if (b.time_ns <= a.time_ns || b.time_ns <= range.begin_ns ||
            a.time_ns >= range.end_ns) {
          continue;
        }
        const double rate = delta / static_cast<double>(b.time_ns - a.time_ns);
        min = known ? std::min(min, rate) : rate;
        max = known ? std::max(max, rate) : rate;
        known = true;
      }
      const CounterRow::Value value = row.Before(range.begin_ns, event);
      CHECK(value.count == Approx(total).margin(1e-3));
      const CounterRow::Rates rates = row.RatesIn(range, event);
      REQUIRE(rates.known == known);
      CHECK(rates.min == Approx(min).epsilon(1e-5).margin(1e-12));
      CHECK(rates.max == Approx(max).epsilon(1e-5).margin(1e-12));
    }
  }
}

// The count of a column is that of any way to place the events between dumps.
TEST_CASE("counter tiles: limits equal brute force", "[viewer][property]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 52, .dispatches = 2000});
  for (const std::uint32_t level : {8u, 14u, 18u}) {
    for (std::uint32_t event = 0; event < 2; ++event) {
      const std::uint32_t row = CounterRowNumber(*built.index, event, 1);
      const auto bytes =
          BuildTile(*built.index, {.row = row, .level = level, .index = 3}, 0);
      REQUIRE(bytes.ok());
      std::vector<CounterColumn> columns(kTileColumns);
      REQUIRE(bytes->size() ==
              sizeof(TileHeader) + kTileColumns * sizeof(CounterColumn));
      std::memcpy(columns.data(), bytes->data() + sizeof(TileHeader),
                  kTileColumns * sizeof(CounterColumn));
      for (std::uint64_t i = 0; i < kTileColumns; ++i) {
        const std::uint64_t begin = (3 * kTileColumns + i) << level;
        std::uint64_t end = begin + (std::uint64_t{1} << level);
        if (begin >= built.index->duration_ns()) break;
        end = std::min(end, built.index->duration_ns());
        // Counts of the last dump until an instant, and of the next.
        const auto around = [&](std::uint64_t time_ns) {
          std::uint64_t last = 0, next = 0;
          bool found = false;
          for (const TrueDump& dump : built.trace.dumps) {
            if (dump.cpu != 0) continue;
            const std::uint64_t at_ns = dump.time_ns - built.begin_ns();
            if (at_ns <= time_ns) last = next = dump.values[event];
            if (at_ns > time_ns && !found) {
              next = dump.values[event];
              found = true;
            }
            if (at_ns == time_ns) found = true;
          }
          return std::pair(static_cast<double>(last),
                           static_cast<double>(next));
        };
        const auto [begin_lo, begin_hi] = around(begin);
        const auto [end_lo, end_hi] = around(end);
        const double scale = 1e9 / static_cast<double>(end - begin);
        CAPTURE(level, event, i);
        CHECK(columns[i].lo == Approx(std::max(0.0, end_lo - begin_hi) * scale)
                                   .epsilon(1e-5)
                                   .margin(1e-3));
        CHECK(columns[i].hi ==
              Approx((end_hi - begin_lo) * scale).epsilon(1e-5).margin(1e-3));
        CHECK(columns[i].lo <= columns[i].mean * 1.00001f + 1e-3f);
        CHECK(columns[i].mean <= columns[i].hi * 1.00001f + 1e-3f);
      }
    }
  }
}

TEST_CASE("step: visits every boundary in order, and back again",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 61, .dispatches = 300, .mean_dispatch_ns = 2000});
  std::vector<std::uint64_t> edges;
  for (const TrueDispatch& truth : built.trace.dispatches) {
    edges.push_back(truth.begin_ns - built.begin_ns());
    edges.push_back(truth.end_ns - built.begin_ns());
  }
  for (const TrueSegment& truth : built.trace.segments) {
    edges.push_back(truth.begin_ns - built.begin_ns());
    edges.push_back(truth.end_ns - built.begin_ns());
  }
  for (const TrueHook& truth : built.trace.hooks) {
    edges.push_back(truth.time_ns - built.begin_ns());
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const std::uint32_t all = kStepDispatch | kStepSegment | kStepHook;
  std::vector<std::uint64_t> forward{edges.front()};
  while (const auto step =
             NearestStep(*built.index, forward.back(), true, all)) {
    forward.push_back(step->time_ns);
    REQUIRE(forward.size() <= edges.size());
  }
  CHECK(forward == edges);
  std::vector<std::uint64_t> back{edges.back()};
  while (const auto step = NearestStep(*built.index, back.back(), false, all)) {
    back.push_back(step->time_ns);
    REQUIRE(back.size() <= edges.size());
  }
  std::reverse(back.begin(), back.end());
  CHECK(back == edges);
}

TEST_CASE("overview: machine coverage is the load of all CPUs",
          "[viewer][property]") {
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 71, .cpus = 2, .dispatches = 5000});
  const std::uint32_t rows = built.index->header().overview_rows;
  REQUIRE(rows == 3);
  double machine = 0;
  double by_cpu = 0;
  for (std::uint32_t i = 0; i < kOverviewColumns; ++i) {
    machine += built.index->overview()[i].coverage / 255.0;
    for (std::uint32_t row = 1; row < rows; ++row) {
      by_cpu +=
          built.index->overview()[row * kOverviewColumns + i].coverage / 255.0;
    }
  }
  CHECK(machine == Approx(by_cpu / 2).epsilon(0.005));
  std::uint64_t busy_ns = 0;
  for (const TrueDispatch& truth : built.trace.dispatches) {
    if (truth.thread != kNoKey) busy_ns += truth.end_ns - truth.begin_ns;
  }
  CHECK(machine / kOverviewColumns ==
        Approx(static_cast<double>(busy_ns) / 2 /
               static_cast<double>(built.index->duration_ns()))
            .epsilon(0.005));
}

}  // namespace countrace::viewer
