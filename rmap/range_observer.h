// Passes on what belongs to a range of the trace, cut at its edges, and of a
// trace with pauses real times: what spans a pause comes in parts, and what
// lies in one does not come.
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
#include <utility>
#include <vector>

#include "rmap/kept_time.h"
#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

class RangeObserver final : public TimelineObserver {
 public:
  // `next` must outlive this object. `range` has the clock of `kept`, as what
  // comes; what goes to `next` has not.
  RangeObserver(TableRange range, TimelineObserver& next,
                KeptTime kept = KeptTime({}))
      : range_(range), next_(next), kept_(std::move(kept)) {}

  // A pause begins, or ends. SegmentBuilder ends and continues open calls.
  void SetPaused(bool paused, std::uint64_t kept_ns) {
    paused_ns_ = paused ? kept_ns : kNotPaused;
  }

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
  void OnLevel(const LevelSpan& span) override;
  void OnFault(const FaultHit& fault) override;
  void OnCounters(const CounterDump& dump) override;
  void OnLoss(const LossSpan& loss) override;

 private:
  static constexpr std::uint64_t kNotPaused = ~std::uint64_t{0};
  bool paused() const { return paused_ns_ != kNotPaused; }
  bool Has(std::uint64_t time_ns) const {
    return time_ns >= range_.from_ns && time_ns <= range_.until_ns;
  }
  // False if `hit` is not passed on; else it has its real time.
  template <typename Hit>
  bool Take(Hit& hit) const {
    if (paused() || !Has(hit.time_ns)) return false;
    hit.time_ns = kept_.BeginAt(hit.time_ns);
    return true;
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
  // The same of a count, which may be of an instant: the end of an interrupt
  // and an edge. Sums that the range has not were taken before its begin.
  template <typename Count>
  bool CutCount(Count& count) const {
    const bool instant = count.begin_ns == count.end_ns;
    return instant ? Has(count.begin_ns) : Cut(count);
  }
  // Calls `add` with each real part of `span`, and whether it is the first and
  // the last one.
  template <typename Span, typename Add>
  void ForEachPart(const Span& span, Add add) const;

  // Begins the thread's calls that are open at the begin.
  void GoOn(ThreadIndex thread);
  // Calls of these depths have ended.
  void EndBefore(ThreadIndex thread, std::uint32_t depth);

  const TableRange range_;
  TimelineObserver& next_;
  const KeptTime kept_;
  std::uint64_t paused_ns_ = kNotPaused;
  // Outermost ones in the dispatch that goes on, by CPU, on the clock of kept_.
  std::unordered_map<std::uint32_t, std::vector<logformat::TimeSpan>>
      interrupts_;
  // Outermost first, by thread.
  std::unordered_map<std::uint32_t, std::vector<SegmentBegin>> begun_before_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RANGE_OBSERVER_H_
