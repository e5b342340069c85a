// Passes on what belongs to a range of the trace, cut at its edges.
//
//   Reconstruct --> RangeObserver --> IndexBuilder, StreamObserver
//
// Reconstruction delivers what ends before the range, too, and some spans with
// the begin that they had before it. A call that is open at the begin begins
// there (SegmentBegin::cut), before anything else of its thread. Thread: as
// TimelineObserver.
#ifndef COUNTRACE_RMAP_RANGE_OBSERVER_H_
#define COUNTRACE_RMAP_RANGE_OBSERVER_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

class RangeObserver final : public TimelineObserver {
 public:
  // `next` must outlive this object.
  RangeObserver(TableRange range, TimelineObserver& next)
      : range_(range), next_(next) {}

  bool WantsCallCounts() const override { return next_.WantsCallCounts(); }
  void OnThread(ThreadIndex thread, std::int32_t tid) override {
    next_.OnThread(thread, tid);
  }
  void OnTime(const AttributedTime& attributed) override;
  void OnCounts(const AttributedCount& attributed) override;
  void OnUnseen(const UnseenCount& unseen) override;
  void OnOwnersUnknown(std::uint64_t since_ns) override;
  void OnDispatch(const DispatchSpan& span) override;
  void OnInferredSwitch(const InferredSwitch& inferred) override;
  void OnWait(const WaitSpan& span) override;
  void OnBlocked(const BlockedSpan& span) override;
  void OnInterrupt(const InterruptSpan& span) override;
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;
  void OnHook(const HookHit& hit) override;
  void OnFault(const FaultHit& fault) override;
  void OnCounters(const CounterDump& dump) override;
  void OnLoss(const LossSpan& loss) override;

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

  // Begins the thread's calls that are open at the begin.
  void GoOn(ThreadIndex thread);
  // Calls of these depths have ended.
  void EndBefore(ThreadIndex thread, std::uint32_t depth);

  const TableRange range_;
  TimelineObserver& next_;
  // Outermost first, by thread.
  std::unordered_map<std::uint32_t, std::vector<SegmentBegin>> begun_before_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RANGE_OBSERVER_H_
