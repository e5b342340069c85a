#include "viewer/index/instant/nearest_step.h"

#include <algorithm>

#include "viewer/index/file/partition_point.h"
#include "viewer/index/rows/group_leaves.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/point_row.h"

namespace countrace::viewer {
namespace {

class StepSearch {
 public:
  StepSearch(const TimelineIndex& index, std::uint64_t time_ns, bool forward,
             std::uint32_t kinds, const StepFilter& filter)
      : index_(index),
        time_ns_(time_ns),
        forward_(forward),
        kinds_(kinds),
        filter_(filter) {}

  void OfferRow(std::uint32_t number) {
    const RowEntry& entry = index_.rows()[number];
    switch (entry.kind) {
      case RowKind::kQuality:
        if (Has(kStepLoss) && !filter_.threads && !filter_.hooks &&
            !filter_.cpu) {
          OfferIntervals(number);
        }
        break;
      case RowKind::kCpu:
        if (Has(kStepDispatch) && !filter_.threads && !filter_.hooks &&
            IsOfCpu(entry.owner)) {
          OfferIntervals(number);
        }
        break;
      case RowKind::kThreadRun:
        // A thread's dispatches repeat those of the CPUs: only on request.
        if ((filter_.row || filter_.threads) && Has(kStepDispatch) &&
            !filter_.hooks && IsOfThread(entry.owner)) {
          OfferIntervals(number);
        }
        break;
      case RowKind::kSegment:
        if (Has(kStepSegment) && IsOfThread(entry.owner)) {
          OfferIntervals(number);
        }
        break;
      case RowKind::kInterrupt:
        if (Has(kStepInterrupt) && !filter_.threads && IsOfCpu(entry.owner)) {
          OfferIntervals(number);
        }
        break;
      case RowKind::kHook:
        if (Has(kStepHook) && IsOfThread(entry.owner)) OfferPoints(number);
        break;
      case RowKind::kThreadWait:
      case RowKind::kThreadBlocked:
      case RowKind::kIdleRun:
      case RowKind::kOutsideRun:
      case RowKind::kCounter:
      case RowKind::kInterruptTime:
      case RowKind::kFault:
      case RowKind::kLevel:
        break;
    }
  }

  const std::optional<Step>& best() const { return best_; }

 private:
  bool Has(std::uint32_t kind) const { return (kinds_ & kind) != 0; }
  bool IsOfThread(std::uint32_t thread) const {
    if (filter_.cpu) return false;
    return !filter_.threads || filter_.threads->contains(thread);
  }
  bool IsOfCpu(std::uint32_t cpu) const {
    return !filter_.cpu || *filter_.cpu == cpu;
  }

  // Keeps the nearest.
  void Offer(const Step& step) {
    if (forward_ ? step.time_ns <= time_ns_ : step.time_ns >= time_ns_) return;
    if (!best_ || (forward_ ? step.time_ns < best_->time_ns
                            : step.time_ns > best_->time_ns)) {
      best_ = step;
    }
  }

  // Calls `offer` with the leaf numbers of a row, or with those of each hook
  // that the filter selects, as a list of its own: `size` of them, in time
  // order.
  template <typename OfferList>
  void ForEachList(std::uint32_t number, OfferList offer) {
    const RowEntry& entry = index_.rows()[number];
    if (!filter_.hooks) {
      offer(entry.leaves, [](std::uint64_t at) { return at; });
      return;
    }
    for (std::uint32_t i = 0; i < entry.groups; ++i) {
      const GroupEntry& group = index_.groups()[entry.first_group + i];
      if (group.row != number || !filter_.hooks->contains(group.key)) continue;
      if (group.count == 0) continue;
      const GroupLeaves leaves(index_, group);
      offer(group.count, [&leaves](std::uint64_t at) { return leaves[at]; });
    }
  }

  void OfferIntervals(std::uint32_t number) {
    const IntervalRow row(index_, number);
    ForEachList(number, [&](std::uint64_t size, auto leaf_number) {
      const auto offer = [&](std::uint64_t at) {
        const std::uint64_t leaf = leaf_number(at);
        Offer({row.leaf(leaf).begin_ns, number, leaf, false});
        if (filter_.begins_only) return;
        Offer({row.leaf(leaf).end_ns, number, leaf, true});
      };
      // Leaves do not overlap, so the nearest begin and end are in the leaves
      // around the instant. Leaves of no length may share it, so the loop
      // visits them all.
      const std::uint64_t until_ns = forward_ ? time_ns_ + 1 : time_ns_;
      std::uint64_t at = PartitionPoint(0, size, [&](std::uint64_t i) {
        return row.leaf(leaf_number(i)).begin_ns < until_ns;
      });
      if (at < size) offer(at);
      for (int back = 0; back < 2 && at > 0; ++back) offer(--at);
    });
  }

  void OfferPoints(std::uint32_t number) {
    const PointRow points(index_, number);
    ForEachList(number, [&](std::uint64_t size, auto leaf_number) {
      const std::uint64_t until_ns = forward_ ? time_ns_ + 1 : time_ns_;
      const std::uint64_t at = PartitionPoint(0, size, [&](std::uint64_t i) {
        return points.Time(leaf_number(i)) < until_ns;
      });
      if (forward_ ? at >= size : at == 0) return;
      const std::uint64_t leaf = leaf_number(forward_ ? at : at - 1);
      Offer({points.Time(leaf), number, leaf, false});
    });
  }

  const TimelineIndex& index_;
  const std::uint64_t time_ns_;
  const bool forward_;
  const std::uint32_t kinds_;
  const StepFilter& filter_;
  std::optional<Step> best_;
};

}  // namespace

std::optional<std::uint32_t> StepKindNamed(std::string_view name) {
  if (name == "dispatch") return kStepDispatch;
  if (name == "segment") return kStepSegment;
  if (name == "hook") return kStepHook;
  if (name == "interrupt") return kStepInterrupt;
  if (name == "loss") return kStepLoss;
  return std::nullopt;
}

std::optional<Step> NearestStep(const TimelineIndex& index,
                                std::uint64_t time_ns, bool forward,
                                std::uint32_t kinds, const StepFilter& filter) {
  StepSearch search(index, time_ns, forward, kinds, filter);
  if (filter.row) {
    if (*filter.row < index.rows().size()) search.OfferRow(*filter.row);
  } else {
    for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
      search.OfferRow(number);
    }
  }
  return search.best();
}

}  // namespace countrace::viewer
