#include "rmap/dispatch/blocked_time.h"

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

using Sleep = BlockedState::Sleep;

void BlockedTime::AddWait(const ThreadState& thread, std::uint64_t ns) {
  const BlockedState& blocked = thread.blocked;
  if (!blocked.left_cpu || blocked.place == nullptr) return;
  blocked.place->wait_ns += ns;
}

void BlockedTime::Leave(ThreadState& thread, std::uint64_t time_ns,
                        std::uint16_t state, const LossState& loss) {
  BlockedState& blocked = thread.blocked;
  blocked.left_cpu = true;
  blocked.place = thread.stack.Top();
  const bool runnable = state == logformat::kSwitchRunnable ||
                        (state & logformat::kSwitchPreempted) != 0;
  if (runnable || (state & logformat::kSwitchDead) != 0) {
    blocked.sleep = Sleep::kNone;
    return;
  }
  blocked.sleep =
      state == logformat::kSwitchOther ? Sleep::kPerhaps : Sleep::kBlocked;
  blocked.since_ns = time_ns;
  blocked.loss_epoch = loss.epoch;
  blocked.sure = !loss.lossy;
}

void BlockedTime::Wake(ThreadState& thread, std::uint64_t time_ns,
                       const Waker& waker, const LossState& loss) {
  if (thread.blocked.sleep == Sleep::kNone) return;
  End(thread, time_ns, waker, loss);
}

void BlockedTime::Enter(ThreadState& thread, std::uint64_t time_ns,
                        const LossState& loss) {
  if (thread.blocked.sleep == Sleep::kBlocked) {
    End(thread, time_ns, Waker(), loss);
  }
  thread.blocked.sleep = Sleep::kNone;
  thread.blocked.left_cpu = false;
}

void BlockedTime::Finish(ThreadState& thread, std::uint64_t end_ns,
                         const LossState& loss) {
  const BlockedState& blocked = thread.blocked;
  // If the wake-up or switch-in was lost, the end of its blocked time is
  // unknown.
  if (blocked.sleep != Sleep::kBlocked || thread.retired) return;
  Waker none;
  none.kind = WakerKind::kStillBlocked;
  End(thread, std::max(end_ns, blocked.since_ns), none, loss);
}

void BlockedTime::End(ThreadState& thread, std::uint64_t time_ns,
                      const Waker& waker, const LossState& loss) {
  BlockedState& blocked = thread.blocked;
  blocked.sleep = Sleep::kNone;
  Interval interval;
  interval.ns = time_ns - std::min(blocked.since_ns, time_ns);
  blocked.total_ns += interval.ns;
  // Records lost meanwhile may show that it ran.
  interval.sure = blocked.sure && !loss.lossy &&
                  blocked.loss_epoch == loss.epoch && !thread.hooks_lost;
  Key& key = interval.key;
  key.process = thread.process;
  if (thread.process == nullptr) key.thread = &thread;
  key.kind = waker.kind;
  if (waker.thread != nullptr) {
    key.waker_process = waker.thread->process;
    if (waker.thread->process == nullptr) key.waker_thread = waker.thread;
  }
  if (blocked.left_cpu) key.place = blocked.place;
  if (waker.in != nullptr) key.hook_id = waker.in->stack.TopHook();
  Add(interval);
}

void BlockedTime::Add(Interval interval) {
  Key& key = interval.key;
  if (key.place != nullptr) key.place->blocked_ns += interval.ns;
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
  if (!interval.sure) sum.quality = Quality::kBounded;
}

}  // namespace countrace::rmap
