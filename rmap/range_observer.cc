#include "rmap/range_observer.h"

namespace countrace::rmap {

void RangeObserver::GoOn(ThreadIndex thread) {
  const auto calls = begun_before_.find(static_cast<std::uint32_t>(thread));
  if (calls == begun_before_.end()) return;
  for (SegmentBegin& begin : calls->second) {
    begin.time_ns = range_.from_ns;
    begin.goes_on = begin.cut = true;
    next_.OnSegmentBegin(begin);
  }
  begun_before_.erase(calls);
}

void RangeObserver::EndBefore(ThreadIndex thread, std::uint32_t depth) {
  const auto calls = begun_before_.find(static_cast<std::uint32_t>(thread));
  if (calls == begun_before_.end()) return;
  while (!calls->second.empty() && calls->second.back().depth >= depth) {
    calls->second.pop_back();
  }
}

void RangeObserver::OnTime(const AttributedTime& attributed) {
  AttributedTime cut = attributed;
  if (!Cut(cut)) return;
  if (cut.thread != kNoThread) GoOn(cut.thread);
  next_.OnTime(cut);
}

void RangeObserver::OnCounts(const AttributedCount& attributed) {
  AttributedCount cut = attributed;
  if (Cut(cut)) next_.OnCounts(cut);
}

void RangeObserver::OnUnseen(const UnseenCount& unseen) {
  UnseenCount cut = unseen;
  if (Cut(cut)) next_.OnUnseen(cut);
}

void RangeObserver::OnOwnersUnknown(std::uint64_t since_ns) {
  if (since_ns < range_.until_ns) {
    next_.OnOwnersUnknown(std::max(since_ns, range_.from_ns));
  }
}

void RangeObserver::OnDispatch(const DispatchSpan& span) {
  DispatchSpan cut = span;
  if (!Cut(cut)) return;
  // As at the edges of a trace.
  cut.begin_inferred |= span.begin_ns <= range_.from_ns;
  cut.end_inferred |= span.end_ns >= range_.until_ns;
  next_.OnDispatch(cut);
}

void RangeObserver::OnInferredSwitch(const InferredSwitch& inferred) {
  if (Has(inferred.time_ns)) next_.OnInferredSwitch(inferred);
}

void RangeObserver::OnWait(const WaitSpan& span) {
  WaitSpan cut = span;
  if (Cut(cut)) next_.OnWait(cut);
}

void RangeObserver::OnBlocked(const BlockedSpan& span) {
  BlockedSpan cut = span;
  if (Cut(cut)) next_.OnBlocked(cut);
}

void RangeObserver::OnInterrupt(const InterruptSpan& span) {
  InterruptSpan cut = span;
  if (!Cut(cut)) return;
  cut.end_inferred |=
      span.begin_ns < range_.from_ns || span.end_ns > range_.until_ns;
  next_.OnInterrupt(cut);
}

void RangeObserver::OnSegmentBegin(const SegmentBegin& begin) {
  EndBefore(begin.thread, begin.depth);
  if (begin.time_ns < range_.from_ns) {
    begun_before_[static_cast<std::uint32_t>(begin.thread)].push_back(begin);
  } else if (Has(begin.time_ns)) {
    GoOn(begin.thread);
    next_.OnSegmentBegin(begin);
  }
}

void RangeObserver::OnSegment(const SegmentSpan& span) {
  SegmentSpan cut = span;
  if (!Cut(cut)) {
    if (!span.begin_inferred && span.begin_ns < range_.from_ns) {
      EndBefore(span.thread, span.depth);
    }
    return;
  }
  GoOn(span.thread);
  // Its time counts, unlike that of a call without an enter, and its length is
  // not its own, as that of a call without an exit.
  cut.end_inferred |=
      span.begin_ns < range_.from_ns || span.end_ns > range_.until_ns;
  next_.OnSegment(cut);
}

void RangeObserver::OnHook(const HookHit& hit) {
  if (Has(hit.time_ns)) next_.OnHook(hit);
}

void RangeObserver::OnFault(const FaultHit& fault) {
  if (Has(fault.time_ns)) next_.OnFault(fault);
}

void RangeObserver::OnCounters(const CounterDump& dump) {
  if (Has(dump.time_ns)) next_.OnCounters(dump);
}

void RangeObserver::OnLoss(const LossSpan& loss) {
  LossSpan cut = loss;
  if (Cut(cut)) next_.OnLoss(cut);
}

}  // namespace countrace::rmap
