#include "rmap/dispatch/blocked_time.h"

#include <algorithm>
#include <utility>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

using Sleep = BlockedState::Sleep;

namespace {

// `thread` comes back at `time_ns` from where records may be missing.
void EndUnknown(ThreadState& thread, std::uint64_t time_ns) {
  const std::uint64_t unknown_ns = std::min(time_ns, thread.unseen.latest_ns);
  if (unknown_ns != 0) BlockedTime::EndPerhaps(thread, time_ns - unknown_ns);
}

// The segment in which `thread` is on no CPU since `since_ns`. If its leaving
// was lost, the one that is open now, if it was open then.
PathNode* PlaceOf(const ThreadState& thread, std::uint64_t since_ns) {
  if (thread.blocked.left_cpu) return thread.blocked.place;
  const std::vector<Frame>& frames = thread.stack.frames;
  const auto open = std::find_if(
      frames.rbegin(), frames.rend(),
      [since_ns](const Frame& frame) { return frame.begin_ns <= since_ns; });
  return open == frames.rend() ? nullptr : open->node;
}

// The part of `ns` since `since_ns` in `place` that is outside of the innermost
// call of UnseenState::stack_since_ns, if that call ended then. Else 0.
std::uint64_t BehindDoubt(const ThreadState& thread, const PathNode* place,
                          std::uint64_t since_ns, std::uint64_t ns) {
  const std::uint64_t doubt_ns = thread.unseen.stack_since_ns;
  if (doubt_ns == UnseenState::kNever) return 0;
  const std::vector<Frame>& frames = thread.stack.frames;
  const auto call = std::find_if(
      frames.rbegin(), frames.rend(),
      [doubt_ns](const Frame& frame) { return frame.begin_ns <= doubt_ns; });
  if (call == frames.rend() || call->node != place) return 0;
  return ns - thread.unseen.PlacedNs(since_ns, ns);
}

}  // namespace

void BlockedTime::AddWait(ThreadState& thread, std::uint64_t ns) {
  const BlockedState& blocked = thread.blocked;
  const std::uint64_t unknown_ns = std::min(ns, thread.unseen.latest_ns);
  PathNode* const place = PlaceOf(thread, thread.dispatch.runnable_since_ns);
  if (place == nullptr) return;
  const std::uint64_t sure_ns =
      blocked.left_cpu && blocked.place_sure
          ? thread.unseen.PlacedNs(thread.dispatch.runnable_since_ns,
                                   ns - unknown_ns)
          : 0;
  place->wait_ns += ns;
  thread.unseen.stack_wait_ns +=
      BehindDoubt(thread, place, thread.dispatch.runnable_since_ns, ns);
  if (ns != sure_ns) place->DoubtState(ns - sure_ns);
}

void BlockedTime::Leave(ThreadState& thread, std::uint64_t time_ns,
                        std::uint16_t state) {
  if (with_stacks_) latest_.erase(&thread);
  BlockedState& blocked = thread.blocked;
  blocked.KnowFrom(time_ns);
  blocked.left_cpu = true;
  blocked.place = thread.stack.Top();
  blocked.place_sure = thread.unseen.stack_since_ns == UnseenState::kNever;
  if (logformat::IsRunnable(state) || (state & logformat::kSwitchDead) != 0) {
    blocked.sleep = Sleep::kNone;
    return;
  }
  blocked.sleep =
      state == logformat::kSwitchOther ? Sleep::kPerhaps : Sleep::kBlocked;
  blocked.since_ns = time_ns;
}

void BlockedTime::Wake(ThreadState& thread, std::uint64_t time_ns,
                       const Waker& waker) {
  thread.blocked.KnowFrom(time_ns);
  if (thread.blocked.sleep == Sleep::kNone) return;
  End(thread, time_ns, waker);
}

void BlockedTime::Enter(ThreadState& thread, std::uint64_t time_ns) {
  if (thread.blocked.sleep == Sleep::kBlocked) End(thread, time_ns, Waker());
  EndUnknown(thread, time_ns);
  thread.blocked.KnowFrom(time_ns);
  thread.blocked.sleep = Sleep::kNone;
  thread.blocked.left_cpu = false;
}

void BlockedTime::EndUnseen(ThreadState& thread, std::uint64_t time_ns) {
  EndPerhaps(thread, time_ns);
  Enter(thread, time_ns);
}

void BlockedTime::EndPerhaps(ThreadState& thread, std::uint64_t time_ns) {
  BlockedState& blocked = thread.blocked;
  if (blocked.sleep != Sleep::kPerhaps) return;
  blocked.sleep = Sleep::kNone;
  const std::uint64_t ns = time_ns - std::min(time_ns, blocked.since_ns);
  thread.unseen.unknown_ns += ns;
  for (const Frame& frame : thread.stack.frames) {
    frame.node->unseen.Write().state_ns += ns;
  }
}

void BlockedTime::Finish(ThreadState& thread, std::uint64_t end_ns) {
  const BlockedState& blocked = thread.blocked;
  EndUnknown(thread, end_ns);
  // If the wake-up or switch-in was lost, the end of its blocked time is
  // unknown.
  if (blocked.sleep != Sleep::kBlocked || thread.retired) return;
  Waker none;
  none.kind = WakerKind::kStillBlocked;
  End(thread, std::max(end_ns, blocked.since_ns), none);
}

void BlockedTime::End(ThreadState& thread, std::uint64_t time_ns,
                      const Waker& waker) {
  BlockedState& blocked = thread.blocked;
  const bool perhaps =
      std::exchange(blocked.sleep, Sleep::kNone) == Sleep::kPerhaps;
  Interval interval;
  interval.ns = time_ns - std::min(blocked.since_ns, time_ns);
  blocked.total_ns += interval.ns;
  // Records lost meanwhile may show that it ran; or it ran before without a
  // wake-up, and is woken from a later sleep.
  const std::uint64_t lost_ns = std::min(interval.ns, thread.unseen.latest_ns);
  interval.unknown_ns = perhaps && lost_ns != 0 ? interval.ns : lost_ns;
  thread.unseen.unknown_ns += interval.unknown_ns - lost_ns;
  interval.sure = thread.unseen.latest_ns == 0 && !thread.hooks_lost &&
                  !(thread.process != nullptr && thread.process->hooks_lost) &&
                  blocked.place_sure && waker.sure &&
                  !(lost_ && waker.kind == WakerKind::kNotTold);
  Key& key = interval.key;
  key.process = thread.process;
  if (thread.process == nullptr || by_thread_) key.thread = &thread;
  key.kind = waker.kind;
  if (waker.thread != nullptr) {
    key.waker_process = waker.thread->process;
    if (waker.thread->process == nullptr || by_thread_) {
      key.waker_thread = waker.thread;
    }
  }
  key.place = PlaceOf(thread, blocked.since_ns);
  if (blocked.left_cpu && blocked.place_sure) {
    interval.placed_ns = thread.unseen.PlacedNs(
        blocked.since_ns, interval.ns - interval.unknown_ns);
  }
  thread.unseen.stack_blocked_ns +=
      BehindDoubt(thread, key.place, blocked.since_ns, interval.ns);
  interval.sure &= key.place == nullptr || interval.placed_ns == interval.ns;
  if (waker.in != nullptr) key.hook_id = waker.in->stack.TopHook();
  const std::uint32_t hook_id = key.hook_id;
  Add(interval);
  if (with_stacks_) {
    Latest& latest = latest_[&thread];
    latest.ended = true;
    latest.key = interval.key;
    latest.ns = interval.ns;
    if (latest.stack != 0) OnStack(thread, latest.stack);
  }
  if (observer_ == nullptr) return;
  observer_->OnBlocked(
      {thread.index, std::min(blocked.since_ns, time_ns), time_ns, waker.kind,
       waker.thread == nullptr ? kNoThread : waker.thread->index, hook_id});
}

void BlockedTime::OnStack(const ThreadState& thread, std::uint32_t stack) {
  if (!with_stacks_ || stack == 0) return;
  const auto latest = latest_.find(&thread);
  if (latest == latest_.end() || !latest->second.ended) {
    // Still blocked; or it was not blocked at all.
    if (thread.blocked.sleep != Sleep::kNone) latest_[&thread].stack = stack;
    return;
  }
  StackSum& sum = stacks_[{latest->second.key, stack}];
  ++sum.times;
  sum.ns += latest->second.ns;
  latest_.erase(latest);
}

void BlockedTime::Add(Interval& interval) {
  if (paused_ && interval.ns == 0) return;  // it began in the pause
  Key& key = interval.key;
  if (key.place != nullptr) {
    key.place->blocked_ns += interval.ns;
    const std::uint64_t unsure_ns = interval.ns - interval.placed_ns;
    if (unsure_ns != 0) key.place->DoubtState(unsure_ns);
  }
  if (sums_.size() >= max_rows_ && !sums_.contains(key)) {
    ++folded_;
    key.place = nullptr;
    key.kind = WakerKind::kOther;
    key.waker_process = nullptr;
    key.waker_thread = nullptr;
    key.hook_id = 0;
  }
  Sum& sum = sums_[key];
  ++sum.times;
  sum.ns += interval.ns;
  sum.longest_ns = std::max(sum.longest_ns, interval.ns);
  if (!interval.sure) {
    ++sum.unsure_times;
    sum.unsure_ns += interval.ns;
  }
}

}  // namespace countrace::rmap
