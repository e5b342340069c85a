// Passes on what belongs to a range of the trace, cut at its edges.
//
//   rmap::Reconstruct --> RangeObserver --> IndexBuilder
//
// Reconstruction delivers what ends before the range, too, and some spans with
// the begin that they had before it. Thread: as rmap::TimelineObserver.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_RANGE_OBSERVER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_RANGE_OBSERVER_H_

#include <algorithm>
#include <cstdint>

#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::viewer {

class RangeObserver final : public rmap::TimelineObserver {
 public:
  // `next` must outlive this object.
  RangeObserver(rmap::TableRange range, rmap::TimelineObserver& next)
      : range_(range), next_(next) {}

  bool WantsCallCounts() const override { return next_.WantsCallCounts(); }
  void OnTime(const rmap::AttributedTime& attributed) override;
  void OnCounts(const rmap::AttributedCount& attributed) override;
  void OnUnseen(const rmap::UnseenCount& unseen) override;
  void OnOwnersUnknown(std::uint64_t since_ns) override;
  void OnDispatch(const rmap::DispatchSpan& span) override;
  void OnInferredSwitch(const rmap::InferredSwitch& inferred) override;
  void OnWait(const rmap::WaitSpan& span) override;
  void OnBlocked(const rmap::BlockedSpan& span) override;
  void OnInterrupt(const rmap::InterruptSpan& span) override;
  void OnSegmentBegin(const rmap::SegmentBegin& begin) override;
  void OnSegment(const rmap::SegmentSpan& span) override;
  void OnHook(const rmap::HookHit& hit) override;
  void OnFault(const rmap::FaultHit& fault) override;
  void OnCounters(const rmap::CounterDump& dump) override;
  void OnLoss(const rmap::LossSpan& loss) override;

 private:
  bool Has(std::uint64_t time_ns) const {
    return time_ns >= range_.from_ns && time_ns <= range_.until_ns;
  }
  // False if nothing of a span is in the range; else it is cut.
  template <typename Span>
  bool Cut(Span& span) const {
    if (span.end_ns <= range_.from_ns || span.begin_ns >= range_.until_ns) {
      return false;
    }
    span.begin_ns = std::max(span.begin_ns, range_.from_ns);
    span.end_ns = std::min(span.end_ns, range_.until_ns);
    return true;
  }

  const rmap::TableRange range_;
  rmap::TimelineObserver& next_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_RANGE_OBSERVER_H_
