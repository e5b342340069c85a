#include "viewer/index/range/group_totals.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "viewer/index/file/partition_point.h"
#include "viewer/index/rows/group_leaves.h"

namespace countrace::viewer {
namespace {

class GroupRow {
 public:
  GroupRow(const TimelineIndex& index, const GroupEntry& group)
      : index_(index),
        group_(group),
        row_(index, group.row),
        leaves_(index, group),
        sums_(index.At<GroupSum>(group.prefix_offset)) {}

  GroupTotals In(TimeRange range, const ThreadRun* run) const {
    GroupTotals totals;
    // Most groups are short, with all their calls in the range or none.
    const IntervalLeaf head = Leaf(0);
    if (head.begin_ns >= range.end_ns) return totals;
    if (head.begin_ns >= range.begin_ns &&
        Leaf(group_.count - 1).end_ns < range.end_ns) {
      const GroupSum all = SumBefore(group_.count);
      totals.calls = group_.count - all.uncounted;
      totals.wall_ns = all.wall_ns;
      totals.on_cpu_ns = all.on_cpu_ns;
      totals.on_cpu_known = all.on_cpu_unknown == 0;
      totals.inferred =
          all.uncounted != 0 || HasInferredEnd(0, group_.count, range);
      return totals;
    }
    const std::uint64_t first = Search([&](const IntervalLeaf& leaf) {
      return std::max(leaf.end_ns, leaf.begin_ns + 1) <= range.begin_ns;
    });
    const std::uint64_t last = Search(
        [&](const IntervalLeaf& leaf) { return leaf.begin_ns < range.end_ns; });
    totals.inferred = HasInferredBegin(first, last, range);
    if (first >= last) return totals;
    const bool cut_first = Leaf(first).begin_ns < range.begin_ns;
    totals.calls = last - first - (cut_first ? 1 : 0);
    // Calls of one row do not overlap: at most the outermost two are cut.
    std::uint64_t whole_begin = first;
    std::uint64_t whole_end = last;
    if (cut_first) AddCut(whole_begin++, range, run, totals);
    totals.cut_ns = totals.wall_ns;
    if (whole_begin < whole_end && Leaf(last - 1).end_ns > range.end_ns) {
      AddCut(--whole_end, range, run, totals);
      if (!IsCounted(last - 1)) --totals.calls;
    }
    totals.inferred |= HasInferredEnd(first + (cut_first ? 1 : 0), last, range);
    const GroupSum begin = SumBefore(whole_begin);
    const GroupSum end = SumBefore(whole_end);
    totals.calls -= end.uncounted - begin.uncounted;
    totals.wall_ns += end.wall_ns - begin.wall_ns;
    totals.on_cpu_ns += end.on_cpu_ns - begin.on_cpu_ns;
    if (end.on_cpu_unknown != begin.on_cpu_unknown) totals.on_cpu_known = false;
    return totals;
  }

 private:
  IntervalLeaf Leaf(std::uint64_t posting) const {
    return row_.leaf(leaves_[posting]);
  }
  // A call whose begin is not known ends in the range. `first` to `last`:
  // those that touch it.
  bool HasInferredBegin(std::uint64_t first, std::uint64_t last,
                        TimeRange range) const {
    if (SumBefore(group_.count).uncounted == 0) return false;
    // Its exit is at its end: at the range's begin it is in the range.
    if (first != 0 && Leaf(first - 1).end_ns == range.begin_ns) --first;
    if (last != 0 && Leaf(last - 1).end_ns >= range.end_ns) --last;
    return first < last &&
           SumBefore(last).uncounted != SumBefore(first).uncounted;
  }
  // The end of a counted call is not known, or it is after the range. `first`
  // to `last`: those that begin in it.
  bool HasInferredEnd(std::uint64_t first, std::uint64_t last,
                      TimeRange range) const {
    if (first >= last) return false;
    if (Leaf(last - 1).end_ns >= range.end_ns && IsCounted(last - 1)) {
      return true;
    }
    const std::span<const InferredCall> calls = index_.inferred_calls();
    const auto number =
        static_cast<std::uint32_t>(&group_ - index_.groups().data());
    const auto found = std::partition_point(
        calls.begin(), calls.end(), [&](const InferredCall& call) {
          return std::tuple(call.group, std::uint64_t{call.posting}) <
                 std::tuple(number, first);
        });
    return found != calls.end() && found->group == number &&
           found->posting < last;
  }
  bool IsCounted(std::uint64_t posting) const {
    return (Leaf(posting).flags & kLeafBeginInferred) == 0;
  }
  template <typename Before>
  std::uint64_t Search(Before before) const {
    return PartitionPoint(0, group_.count, [&](std::uint64_t posting) {
      return before(Leaf(posting));
    });
  }
  GroupSum SumBefore(std::uint64_t posting) const {
    const std::uint64_t block = posting / kGroupBlock;
    if (posting == group_.count) return sums_[(posting - 1) / kGroupBlock];
    GroupSum sum = block == 0 ? GroupSum{} : sums_[block - 1];
    for (std::uint64_t i = block * kGroupBlock; i < posting; ++i) {
      const std::uint64_t number = leaves_[i];
      const IntervalLeaf leaf = row_.leaf(number);
      if ((leaf.flags & kLeafBeginInferred) != 0) {
        ++sum.uncounted;
        continue;
      }
      sum.wall_ns += leaf.end_ns - leaf.begin_ns;
      const std::uint64_t on_cpu_ns = row_.extra(number, 0);
      if (on_cpu_ns == kUnknownTime) {
        ++sum.on_cpu_unknown;
      } else {
        sum.on_cpu_ns += on_cpu_ns;
      }
    }
    return sum;
  }
  void AddCut(std::uint64_t posting, TimeRange range, const ThreadRun* run,
              GroupTotals& totals) const {
    if (!IsCounted(posting)) return;
    const IntervalLeaf& leaf = Leaf(posting);
    const std::uint64_t begin_ns = std::max(leaf.begin_ns, range.begin_ns);
    const std::uint64_t end_ns =
        std::max(begin_ns, std::min(leaf.end_ns, range.end_ns));
    totals.wall_ns += end_ns - begin_ns;
    if (run == nullptr || row_.extra(leaves_[posting], 0) == kUnknownTime) {
      totals.on_cpu_known = false;
      return;
    }
    totals.on_cpu_ns += run->OnCpuBefore(end_ns) - run->OnCpuBefore(begin_ns);
  }

  const TimelineIndex& index_;
  const GroupEntry& group_;
  IntervalRow row_;
  GroupLeaves leaves_;
  const GroupSum* sums_;
};

}  // namespace

GroupTotals CallsIn(TimeRange range, const TimelineIndex& index,
                    const GroupEntry& group, const ThreadRun* run) {
  return GroupRow(index, group).In(range, run);
}

}  // namespace countrace::viewer
