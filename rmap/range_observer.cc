#include "rmap/range_observer.h"

#include <cstddef>

#include "rmap/result/limits.h"

namespace countrace::rmap {

template <typename Span, typename Add>
void RangeObserver::ForEachPart(const Span& span, Add add) const {
  if (!kept_.any()) return add(span, true, true);
  // A loss is known before it ends.
  if (span.begin_ns >= paused_ns_ && span.begin_ns == span.end_ns) return;
  const std::vector<logformat::TimeSpan> parts =
      kept_.PartsOf(span.begin_ns, span.end_ns);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Span part = span;
    part.begin_ns = parts[i].from_ns;
    part.end_ns = parts[i].until_ns;
    add(part, i == 0, i + 1 == parts.size());
  }
}

void RangeObserver::GoOn(ThreadIndex thread) {
  if (paused()) return;
  const auto calls = begun_before_.find(static_cast<std::uint32_t>(thread));
  if (calls == begun_before_.end()) return;
  for (SegmentBegin& begin : calls->second) {
    begin.time_ns = kept_.BeginAt(range_.from_ns);
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
  ForEachPart(cut, [this](const AttributedTime& part, bool, bool) {
    next_.OnTime(part);
  });
}

void RangeObserver::OnCounts(const AttributedCount& attributed) {
  AttributedCount cut = attributed;
  if (!CutCount(cut)) return;
  // By time, to the last one: a count has no times of its own.
  const std::uint64_t all_ns = cut.end_ns - cut.begin_ns;
  std::uint64_t passed_ns = 0, given = 0;
  ForEachPart(cut, [&](AttributedCount part, bool first, bool last) {
    if (!first || !last) {
      passed_ns += part.end_ns - part.begin_ns;
      const std::uint64_t share =
          last ? cut.count
               : static_cast<std::uint64_t>(
                     static_cast<unsigned __int128>(cut.count) * passed_ns /
                     all_ns);
      part.count = share - given;
      given = share;
      if (part.count == 0) return;
    }
    next_.OnCounts(part);
  });
}

void RangeObserver::OnUnseen(const UnseenCount& unseen) {
  UnseenCount cut = unseen;
  if (!CutCount(cut)) return;
  cut.begin_ns = kept_.EndAt(cut.begin_ns);
  cut.end_ns = kept_.BeginAt(cut.end_ns);
  next_.OnUnseen(cut);
}

void RangeObserver::OnOwnersUnknown(std::uint64_t since_ns) {
  if (since_ns < range_.until_ns) {
    next_.OnOwnersUnknown(kept_.EndAt(std::max(since_ns, range_.from_ns)));
  }
}

void RangeObserver::OnDispatch(const DispatchSpan& span) {
  const auto interrupts = std::exchange(interrupts_[span.cpu], {});
  DispatchSpan cut = span;
  if (!Cut(cut)) return;
  // As at the edges of a trace.
  cut.begin_inferred |= span.begin_ns <= range_.from_ns;
  cut.end_inferred |= span.end_ns >= range_.until_ns;
  std::uint64_t left_ns = cut.interrupts_ns;
  ForEachPart(cut, [&](DispatchSpan part, bool first, bool last) {
    part.begin_inferred |= !first || part.begin_ns != kept_.EndAt(cut.begin_ns);
    part.end_inferred |= !last;
    if (!first || !last) part.counts = {};
    if (!last) part.end_state = 0;
    part.interrupts_ns = left_ns;
    if (!last) {
      const std::uint64_t from_ns = kept_.At(part.begin_ns);
      const std::uint64_t until_ns = kept_.At(part.end_ns);
      std::uint64_t ns = 0;
      for (const logformat::TimeSpan& one : interrupts) {
        ns += Less(std::min(one.until_ns, until_ns),
                   std::max(one.from_ns, from_ns));
      }
      part.interrupts_ns = std::min(left_ns, ns);
    }
    left_ns -= part.interrupts_ns;
    next_.OnDispatch(part);
  });
}

void RangeObserver::OnInferredSwitch(const InferredSwitch& inferred) {
  InferredSwitch real = inferred;
  if (Take(real)) next_.OnInferredSwitch(real);
}

void RangeObserver::OnWait(const WaitSpan& span) {
  WaitSpan cut = span;
  if (!Cut(cut)) return;
  ForEachPart(cut,
              [this](const WaitSpan& part, bool, bool) { next_.OnWait(part); });
}

void RangeObserver::OnLevel(const LevelSpan& span) {
  LevelSpan cut = span;
  if (!Cut(cut)) return;
  ForEachPart(
      cut, [this](const LevelSpan& part, bool, bool) { next_.OnLevel(part); });
}

void RangeObserver::OnBlocked(const BlockedSpan& span) {
  BlockedSpan cut = span;
  if (!Cut(cut)) return;
  ForEachPart(cut, [this](const BlockedSpan& part, bool, bool) {
    next_.OnBlocked(part);
  });
}

void RangeObserver::OnInterrupt(const InterruptSpan& span) {
  InterruptSpan cut = span;
  if (!Cut(cut)) return;
  if (kept_.any() && span.depth == 0) {
    interrupts_[span.cpu].push_back({cut.begin_ns, cut.end_ns});
  }
  cut.end_inferred |=
      span.begin_ns < range_.from_ns || span.end_ns > range_.until_ns;
  ForEachPart(cut, [this](InterruptSpan part, bool first, bool last) {
    part.end_inferred |= !first || !last;
    next_.OnInterrupt(part);
  });
}

void RangeObserver::OnSegmentBegin(const SegmentBegin& begin) {
  if (paused()) return;
  EndBefore(begin.thread, begin.depth);
  if (begin.time_ns < range_.from_ns) {
    begun_before_[static_cast<std::uint32_t>(begin.thread)].push_back(begin);
    return;
  }
  SegmentBegin real = begin;
  if (!Take(real)) return;
  real.began_ns = kept_.BeginAt(begin.began_ns);
  GoOn(begin.thread);
  next_.OnSegmentBegin(real);
}

void RangeObserver::OnSegment(const SegmentSpan& span) {
  if (paused()) return;
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
  cut.begin_ns = kept_.BeginAt(cut.begin_ns);
  cut.end_ns = std::max(cut.begin_ns, kept_.EndAt(cut.end_ns));
  next_.OnSegment(cut);
}

void RangeObserver::OnHook(const HookHit& hit) {
  HookHit real = hit;
  if (Take(real)) next_.OnHook(real);
}

void RangeObserver::OnFault(const FaultHit& fault) {
  FaultHit real = fault;
  if (Take(real)) next_.OnFault(real);
}

void RangeObserver::OnCounters(const CounterDump& dump) {
  CounterDump real = dump;
  if (Take(real)) next_.OnCounters(real);
}

void RangeObserver::OnLoss(const LossSpan& loss) {
  LossSpan cut = loss;
  if (!Cut(cut)) return;
  ForEachPart(cut, [this](LossSpan part, bool first, bool) {
    if (!first) part.count = 0;
    next_.OnLoss(part);
  });
}

}  // namespace countrace::rmap
