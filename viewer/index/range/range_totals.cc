#include "viewer/index/range/range_totals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "viewer/index/file/partition_point.h"
#include "viewer/index/file/sorted_front.h"
#include "viewer/index/range/group_totals.h"
#include "viewer/index/rows/group_leaves.h"
#include "viewer/index/rows/inferred_switches.h"
#include "viewer/index/rows/point_row.h"

namespace countrace::viewer {
namespace {

void AddCalls(const GroupTotals& part, PathTotals& path) {
  path.calls += part.calls;
  path.wall_incl_ns += part.wall_ns;
  path.wall_excl_ns += part.wall_ns;
  path.on_cpu_incl_ns += part.on_cpu_ns;
  path.on_cpu_excl_ns += part.on_cpu_ns;
  path.on_cpu_known &= part.on_cpu_known;
}

using PathsByKey =
    std::map<std::pair<std::uint32_t, std::uint32_t>, PathTotals>;

// Depth first: a path, then those inside it; siblings by inclusive wall time.
// The processes are those of the heaviest paths first.
std::vector<PathTotals> InTreeOrder(const TimelineIndex& index,
                                    const PathsByKey& paths) {
  // By process and the path around them; the outermost ones of all processes
  // are under kNoKey.
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::vector<const PathTotals*>>
      inside;
  for (const auto& [key, path] : paths) {
    const std::uint32_t parent = index.paths()[path.path].parent;
    inside[{parent == kNoKey ? kNoKey : path.process, parent}].push_back(&path);
  }
  for (auto& [key, siblings] : inside) {
    std::stable_sort(siblings.begin(), siblings.end(),
                     [](const PathTotals* a, const PathTotals* b) {
                       return a->wall_incl_ns > b->wall_incl_ns;
                     });
  }
  std::vector<PathTotals> ordered;
  std::vector<const PathTotals*> pending;
  const auto push = [&](std::uint32_t process, std::uint32_t parent) {
    const auto found = inside.find({process, parent});
    if (found == inside.end()) return;
    pending.insert(pending.end(), found->second.rbegin(), found->second.rend());
  };
  push(kNoKey, kNoKey);
  while (!pending.empty()) {
    const PathTotals* const path = pending.back();
    pending.pop_back();
    ordered.push_back(*path);
    push(path->process, path->path);
  }
  return ordered;
}

std::uint64_t HitsIn(const TimelineIndex& index, const GroupEntry& group,
                     TimeRange range) {
  const PointRow points(index, group.row);
  const GroupLeaves leaves(index, group);
  const auto before = [&](std::uint64_t time_ns) {
    return PartitionPoint(0, leaves.size(), [&](std::uint64_t posting) {
      return points.Time(leaves[posting]) < time_ns;
    });
  };
  return before(range.end_ns) - before(range.begin_ns);
}

// The rows of an index, added up.
class RangeSums {
 public:
  RangeSums(const TimelineIndex& index, TimeRange range, RangeTables tables)
      : index_(index),
        counted_(index, range),
        range_(counted_.range),
        tables_(tables),
        events_(index.header().events),
        interrupts_(index) {
    totals_.idle.counts.resize(events_);
    totals_.outside.counts.resize(events_);
    for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
      AddRow(number);
    }
  }

  RangeTotals Take() {
    TakeRuns();
    TakeCalls();
    for (const auto& [key, hits] : hooks_) {
      totals_.hooks.push_back({key.first, key.second, hits});
    }
    Sort();
    return std::move(totals_);
  }

 private:
  void AddRow(std::uint32_t number) {
    const RowEntry& row = index_.rows()[number];
    switch (row.kind) {
      case RowKind::kCpu:
        totals_.cpu_ns += counted_.wall_ns;
        totals_.interrupts_ns += interrupts_.TimeIn(row.owner, range_);
        break;
      case RowKind::kThreadRun:
        run_row_ = number;
        AddThread(row.owner, RunOf(number));
        break;
      case RowKind::kIdleRun:
        AddTotals(totals_.idle, RunOf(number));
        break;
      case RowKind::kOutsideRun:
        AddTotals(totals_.outside, RunOf(number));
        break;
      case RowKind::kSegment:
        if (tables_.segments || tables_.paths) AddSegments(number);
        break;
      case RowKind::kHook:
        if (tables_.hooks) AddHits(number);
        break;
      case RowKind::kQuality:
      case RowKind::kCounter:
      case RowKind::kThreadWait:
      case RowKind::kThreadBlocked:
      case RowKind::kInterrupt:
      case RowKind::kInterruptTime:
      case RowKind::kFault:
      case RowKind::kLevel:
        break;
    }
  }

  RunTotals RunOf(std::uint32_t row) const {
    return RunTotalsIn(ThreadRun(index_, row, interrupts_), range_, events_);
  }

  void AddThread(std::uint32_t thread, const RunTotals& run) {
    RunTotals& process = processes_[index_.ProcessOf(thread)];
    AddTotals(process, run);
    if (!process.qualities.any() &&
        InferredSwitchesIn(index_, thread, range_).switched) {
      process.qualities.Add(rmap::Quality::kInferred);
    }
  }

  // Calls add(group) for the groups of a row.
  template <typename Add>
  void ForGroups(std::uint32_t number, const Add& add) const {
    const RowEntry& row = index_.rows()[number];
    for (const GroupEntry& group :
         index_.groups().subspan(row.first_group, row.groups)) {
      if (group.row == number && group.count != 0) add(group);
    }
  }

  void AddSegments(std::uint32_t number) {
    std::optional<ThreadRun> run;
    if (run_row_ &&
        index_.rows()[*run_row_].owner == index_.rows()[number].owner) {
      run.emplace(index_, *run_row_, interrupts_);
    }
    ForGroups(number, [&](const GroupEntry& group) {
      const GroupTotals part =
          CallsIn(range_, index_, group, run ? &*run : nullptr);
      if (part.calls == 0 && part.wall_ns == 0 && !part.inferred) return;
      if (tables_.paths) AddPath(group, part);
      AddSegment(group, part);
    });
  }

  void AddSegment(const GroupEntry& group, const GroupTotals& part) {
    SegmentTotals& own = SegmentOf(group.process, group.key);
    const bool inner = (index_.paths()[group.path].flags & kPathRecursive) != 0;
    own.calls += part.calls;
    own.begun_ns += part.wall_ns - part.cut_ns;
    own.wall_incl_ns += inner ? 0 : part.wall_ns;
    own.wall_excl_ns += part.wall_ns;
    own.on_cpu_incl_ns += inner ? 0 : part.on_cpu_ns;
    own.on_cpu_excl_ns += part.on_cpu_ns;
    own.on_cpu_known &= part.on_cpu_known;
    if (part.inferred || (group.flags & kGroupInferred) != 0) {
      own.qualities.Add(rmap::Quality::kInferred);
    }
    own.unsure |= (group.flags & kGroupUnsure) != 0;
    if (group.parent == kNoKey) return;
    // Time inside this segment is no exclusive time of its parent. A sum
    // may be below zero until the parent's group is added; unsigned
    // arithmetic makes the final sum right.
    SegmentTotals& parent = SegmentOf(group.process, group.parent);
    parent.wall_excl_ns -= part.wall_ns;
    parent.on_cpu_excl_ns -= part.on_cpu_ns;
  }

  void AddPath(const GroupEntry& group, const GroupTotals& part) {
    AddCalls(part, PathOf(group.process, group.path));
    const std::uint32_t parent = index_.paths()[group.path].parent;
    if (parent == kNoKey) return;
    PathTotals& around = PathOf(group.process, parent);
    around.wall_excl_ns -= part.wall_ns;
    around.on_cpu_excl_ns -= part.on_cpu_ns;
  }

  void AddHits(std::uint32_t number) {
    ForGroups(number, [&](const GroupEntry& group) {
      const std::uint64_t hits = HitsIn(index_, group, range_);
      if (hits != 0) hooks_[{group.process, group.key}] += hits;
    });
  }

  // Valid until the next call.
  SegmentTotals& SegmentOf(std::uint32_t process, std::uint32_t hook_id) {
    std::vector<SegmentTotals>& segments = totals_.segments;
    const auto [number, added] =
        segment_numbers_.try_emplace({process, hook_id}, segments.size());
    if (added) segments.push_back({.process = process, .hook_id = hook_id});
    return segments[number->second];
  }

  PathTotals& PathOf(std::uint32_t process, std::uint32_t path) {
    return paths_
        .try_emplace({process, path},
                     PathTotals{.process = process, .path = path})
        .first->second;
  }

  // Processes, idle and outside, with their qualities.
  void TakeRuns() {
    std::uint64_t known_ns = totals_.interrupts_ns + totals_.idle.on_cpu_ns +
                             totals_.outside.on_cpu_ns;
    for (const auto& [process, run] : processes_) known_ns += run.on_cpu_ns;
    totals_.unknown_ns = totals_.cpu_ns - std::min(totals_.cpu_ns, known_ns);
    // All that is unattributed may be idle, or outside.
    for (RunTotals* const run : {&totals_.idle, &totals_.outside}) {
      if (totals_.unknown_ns != 0) run->qualities.Add(rmap::Quality::kBounded);
    }
    for (auto& [process, run] : processes_) {
      if (run.dispatches == 0 && run.on_cpu_ns == 0) continue;
      AddQualities(index_, range_,
                   process < index_.processes().size()
                       ? index_.processes()[process].unsure
                       : kUnsureInGaps,
                   run);
      totals_.processes.push_back({process, std::move(run)});
    }
  }

  void TakeCalls() {
    std::erase_if(totals_.segments, [](const SegmentTotals& segment) {
      return segment.calls == 0 && segment.wall_incl_ns == 0;
    });
    // Where nothing is missing, all calls are there with their time.
    const bool complete = totals_.unknown_ns == 0 && index_.losses().empty();
    for (SegmentTotals& segment : totals_.segments) {
      if (segment.unsure && !complete) {
        segment.qualities.Add(rmap::Quality::kBounded);
      }
      for (std::uint32_t event = 0; event < events_; ++event) {
        if (index_.IsInTurns(event)) {
          segment.qualities.Add(rmap::Quality::kScaled);
        }
      }
    }
    std::erase_if(paths_, [](const auto& entry) {
      return entry.second.calls == 0 && entry.second.wall_incl_ns == 0;
    });
    totals_.paths = InTreeOrder(index_, paths_);
    if (!tables_.segments) totals_.segments.clear();
  }

  // Ties by number, so that answers are deterministic (the maps are sorted).
  void Sort() {
    std::stable_sort(totals_.processes.begin(), totals_.processes.end(),
                     [](const ProcessTotals& a, const ProcessTotals& b) {
                       return a.run.on_cpu_ns > b.run.on_cpu_ns;
                     });
    SortFront(totals_.segments, tables_.sorted_segments,
              [](const SegmentTotals& a, const SegmentTotals& b) {
                return a.wall_excl_ns != b.wall_excl_ns
                           ? a.wall_excl_ns > b.wall_excl_ns
                           : std::tie(a.process, a.hook_id) <
                                 std::tie(b.process, b.hook_id);
              });
    std::stable_sort(totals_.hooks.begin(), totals_.hooks.end(),
                     [](const HookTotals& a, const HookTotals& b) {
                       return a.hits > b.hits;
                     });
  }

  const TimelineIndex& index_;
  const CountedRange counted_;
  const TimeRange range_;
  const RangeTables tables_;
  const std::uint32_t events_;
  const InterruptRows interrupts_;
  std::optional<std::uint32_t> run_row_;  // row of the current thread
  RangeTotals totals_;
  std::map<std::uint32_t, RunTotals> processes_;
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // process, hook
  absl::flat_hash_map<Key, std::size_t> segment_numbers_;
  std::map<Key, std::uint64_t> hooks_;
  PathsByKey paths_;
};

}  // namespace

RangeTotals TotalsIn(const TimelineIndex& index, TimeRange range,
                     RangeTables tables) {
  return RangeSums(index, range, tables).Take();
}

}  // namespace countrace::viewer
