#include "viewer/index/rows/thread_states.h"

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::viewer {

ThreadStates::ThreadStates(const TimelineIndex& index, std::uint32_t row,
                           const InterruptRows& interrupts)
    : index_(index), run_(index, row, interrupts), life_{0, 0} {
  const std::uint32_t thread = dispatches().entry().owner;
  // The rows of a thread are adjacent.
  for (std::uint32_t next = row + 1; next < index.rows().size(); ++next) {
    const RowEntry& entry = index.rows()[next];
    if (entry.owner != thread) break;
    if (entry.kind == RowKind::kThreadWait) waits_.emplace(index, next);
    if (entry.kind == RowKind::kSegment) segments_.push_back(next);
  }
  if (thread < index.threads().size()) {
    const ThreadEntry& entry = index.threads()[thread];
    life_ = {entry.first_seen_ns, entry.last_seen_ns};
  }
  if (waits_ && waits_->size() != 0) {
    // Its last record may be the one that begins the last wait.
    life_.begin_ns = std::min(life_.begin_ns, waits_->leaf(0).begin_ns);
    life_.end_ns =
        std::max(life_.end_ns, waits_->leaf(waits_->size() - 1).end_ns);
  }
  if (dispatches().size() == 0) return;
  life_.begin_ns = std::min(life_.begin_ns, dispatches().leaf(0).begin_ns);
  const IntervalLeaf last = dispatches().leaf(dispatches().size() - 1);
  const std::uint32_t end_state = last.flags >> kLeafEndStateShift;
  if ((end_state & logformat::kSwitchDead) != 0) {
    life_.end_ns = last.end_ns;
  } else if (end_state == 0 && (last.flags & kLeafEndInferred) != 0) {
    // Not known after its last record (instant_state.cc).
    life_.end_ns = std::max(life_.end_ns, last.end_ns);
  } else {
    life_.end_ns = index.duration_ns();
  }
}

StateTimes ThreadStates::In(TimeRange range) const {
  StateTimes times;
  range.begin_ns = std::max(range.begin_ns, life_.begin_ns);
  range.end_ns = std::min(range.end_ns, life_.end_ns);
  if (range.begin_ns >= range.end_ns) return times;
  std::uint64_t rest_ns = range.end_ns - range.begin_ns;
  const auto take = [&rest_ns](std::uint64_t ns) {
    const std::uint64_t taken = std::min(ns, rest_ns);
    rest_ns -= taken;
    return taken;
  };
  times.running_ns = take(dispatches().Before(range.end_ns, 0).value -
                          dispatches().Before(range.begin_ns, 0).value);
  if (waits_) {
    times.waiting_ns = take(waits_->Before(range.end_ns, 0).value -
                            waits_->Before(range.begin_ns, 0).value);
  }
  times.blocked_ns = take(run_.BlockedBefore(range.end_ns) -
                          run_.BlockedBefore(range.begin_ns));
  times.unknown_ns = rest_ns;
  return times;
}

std::uint32_t ThreadStates::CallAt(std::uint64_t time_ns, Hints& hints) const {
  for (std::size_t depth = segments_.size(); depth-- > 0;) {
    const IntervalRow calls(index_, segments_[depth]);
    std::uint64_t& hint = hints.calls[depth];
    hint = calls.FirstNotOver(time_ns, hint);
    const std::optional<std::uint64_t> call = calls.Covering(time_ns, hint);
    // Where a call began that no record shows is not known: perhaps later.
    if (call && (calls.leaf(*call).flags & kLeafBeginInferred) == 0) {
      return calls.leaf(*call).key;
    }
  }
  return kNoKey;
}

void ThreadStates::AddGap(bool blocked, std::uint32_t end_state, TimeRange gap,
                          TimeRange range, Hints& hints,
                          std::vector<ThreadStretch>& out) const {
  const bool end_throttled =
      logformat::IsThrottled(static_cast<std::uint16_t>(end_state));
  const auto add_rest = [&](std::uint64_t begin_ns, std::uint64_t end_ns) {
    if (begin_ns >= end_ns || end_ns <= range.begin_ns ||
        begin_ns >= range.end_ns) {
      return;
    }
    out.push_back({{begin_ns, end_ns},
                   blocked ? CallAt(begin_ns, hints) : kNoKey,
                   blocked ? kStateBlocked : kStateUnknown,
                   kNoKey});
  };
  std::uint64_t at_ns = gap.begin_ns;
  const IntervalRow* const sleeps = run_.blocked();
  if (sleeps != nullptr) {
    hints.sleep = sleeps->FirstNotOver(gap.begin_ns, hints.sleep);
  }
  // Up to `until_ns`, which is no wait.
  const auto add_until = [&](std::uint64_t until_ns) {
    for (std::uint64_t i = hints.sleep; sleeps != nullptr && i < sleeps->size();
         ++i) {
      const IntervalLeaf sleep = sleeps->leaf(i);
      if (sleep.begin_ns >= until_ns) break;
      if (sleep.end_ns <= at_ns) continue;
      blocked = false;
      add_rest(at_ns, sleep.begin_ns);
      blocked = true;
      add_rest(std::max(at_ns, sleep.begin_ns),
               std::min(sleep.end_ns, until_ns));
      at_ns = std::min(sleep.end_ns, until_ns);
      blocked = false;
    }
    add_rest(at_ns, until_ns);
  };
  if (waits_) {
    hints.wait = waits_->FirstNotOver(gap.begin_ns, hints.wait);
    for (std::uint64_t i = hints.wait;
         i < waits_->size() && waits_->leaf(i).begin_ns < gap.end_ns; ++i) {
      const IntervalLeaf wait = waits_->leaf(i);
      add_until(wait.begin_ns);
      at_ns = std::max(at_ns, wait.end_ns);
      if (wait.end_ns <= range.begin_ns || wait.begin_ns >= range.end_ns) {
        continue;
      }
      const std::uint32_t woken = wait.flags >> kWakerShift;
      const bool throttled = end_throttled && wait.begin_ns == gap.begin_ns;
      out.push_back({{wait.begin_ns, wait.end_ns},
                     wait.key,
                     kStateWaiting | (throttled ? kStateThrottled : 0u) |
                         woken << kWakerShift,
                     kNoKey});
    }
  }
  add_until(gap.end_ns);
}

std::vector<ThreadStretch> ThreadStates::Stretches(TimeRange range) const {
  std::vector<ThreadStretch> out;
  const IntervalRow& row = dispatches();
  const std::uint64_t first = row.FirstNotOver(range.begin_ns);
  const std::uint64_t last = row.FirstBeginning(range.end_ns, first);
  Hints hints;
  hints.calls.resize(segments_.size());
  for (std::uint64_t i = first; i <= last; ++i) {
    // The gap before dispatch i, then the dispatch.
    const std::uint64_t begin_ns =
        i == 0 ? life_.begin_ns : row.leaf(i - 1).end_ns;
    const std::uint64_t end_ns = i == row.size()
                                     ? std::max(life_.end_ns, begin_ns)
                                     : row.leaf(i).begin_ns;
    if (begin_ns < end_ns) {
      AddGap(i != 0 && !run_.has_pauses() &&
                 run_.IsBlockedAfter(i - 1, hints.wait_begin),
             i == 0 ? 0 : row.leaf(i - 1).flags >> kLeafEndStateShift,
             {begin_ns, end_ns}, range, hints, out);
    }
    if (i == last) break;
    const IntervalLeaf dispatch = row.leaf(i);
    constexpr std::uint32_t kLeafMask = (1u << 8) - 1;
    out.push_back({{dispatch.begin_ns, dispatch.end_ns},
                   dispatch.key,
                   dispatch.flags & kLeafMask,
                   static_cast<std::uint32_t>(i)});
  }
  return out;
}

}  // namespace countrace::viewer
