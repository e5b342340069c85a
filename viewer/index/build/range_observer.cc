#include "viewer/index/build/range_observer.h"

namespace countrace::viewer {

void RangeObserver::OnTime(const rmap::AttributedTime& attributed) {
  rmap::AttributedTime cut = attributed;
  if (Cut(cut)) next_.OnTime(cut);
}

void RangeObserver::OnCounts(const rmap::AttributedCount& attributed) {
  rmap::AttributedCount cut = attributed;
  if (Cut(cut)) next_.OnCounts(cut);
}

void RangeObserver::OnUnseen(const rmap::UnseenCount& unseen) {
  rmap::UnseenCount cut = unseen;
  if (Cut(cut)) next_.OnUnseen(cut);
}

void RangeObserver::OnOwnersUnknown(std::uint64_t since_ns) {
  if (since_ns < range_.until_ns) {
    next_.OnOwnersUnknown(std::max(since_ns, range_.from_ns));
  }
}

void RangeObserver::OnDispatch(const rmap::DispatchSpan& span) {
  rmap::DispatchSpan cut = span;
  if (!Cut(cut)) return;
  // As at the edges of a trace.
  cut.begin_inferred |= span.begin_ns <= range_.from_ns;
  cut.end_inferred |= span.end_ns >= range_.until_ns;
  next_.OnDispatch(cut);
}

void RangeObserver::OnInferredSwitch(const rmap::InferredSwitch& inferred) {
  if (Has(inferred.time_ns)) next_.OnInferredSwitch(inferred);
}

void RangeObserver::OnWait(const rmap::WaitSpan& span) {
  rmap::WaitSpan cut = span;
  if (Cut(cut)) next_.OnWait(cut);
}

void RangeObserver::OnBlocked(const rmap::BlockedSpan& span) {
  rmap::BlockedSpan cut = span;
  if (Cut(cut)) next_.OnBlocked(cut);
}

void RangeObserver::OnInterrupt(const rmap::InterruptSpan& span) {
  rmap::InterruptSpan cut = span;
  if (Cut(cut)) next_.OnInterrupt(cut);
}

void RangeObserver::OnSegmentBegin(const rmap::SegmentBegin& begin) {
  if (Has(begin.time_ns)) next_.OnSegmentBegin(begin);
}

void RangeObserver::OnSegment(const rmap::SegmentSpan& span) {
  rmap::SegmentSpan cut = span;
  if (!Cut(cut)) return;
  // Its time counts, unlike that of a call without an enter, and its length is
  // not its own, as that of a call without an exit.
  cut.end_inferred |=
      span.begin_ns < range_.from_ns || span.end_ns > range_.until_ns;
  next_.OnSegment(cut);
}

void RangeObserver::OnHook(const rmap::HookHit& hit) {
  if (Has(hit.time_ns)) next_.OnHook(hit);
}

void RangeObserver::OnFault(const rmap::FaultHit& fault) {
  if (Has(fault.time_ns)) next_.OnFault(fault);
}

void RangeObserver::OnCounters(const rmap::CounterDump& dump) {
  if (Has(dump.time_ns)) next_.OnCounters(dump);
}

void RangeObserver::OnLoss(const rmap::LossSpan& loss) {
  rmap::LossSpan cut = loss;
  if (Cut(cut)) next_.OnLoss(cut);
}

}  // namespace countrace::viewer
