#include "rmap/dispatch/blocked_time.h"

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

void BlockedTime::AddWait(ThreadState& thread, std::uint64_t ns) {
  if (!thread.left_cpu || thread.off_cpu_in == nullptr) return;
  thread.off_cpu_in->wait_ns += ns;
}

void BlockedTime::Leave(ThreadState& thread, std::uint64_t time_ns,
                        std::uint16_t state, const LossState& loss) {
  using Sleep = ThreadState::Sleep;
  thread.left_cpu = true;
  thread.off_cpu_in = thread.stack.Top();
  const bool runnable = state == logformat::kSwitchRunnable ||
                        (state & logformat::kSwitchPreempted) != 0;
  if (runnable || (state & logformat::kSwitchDead) != 0) {
    thread.sleep = Sleep::kNone;
    return;
  }
  thread.sleep =
      state == logformat::kSwitchOther ? Sleep::kPerhaps : Sleep::kBlocked;
  thread.sleep_since_ns = time_ns;
  thread.sleep_loss_epoch = loss.epoch;
  thread.sleep_sure = !loss.lossy;
}

void BlockedTime::Wake(ThreadState& thread, std::uint64_t time_ns,
                       const Waker& waker, const LossState& loss) {
  if (thread.sleep == ThreadState::Sleep::kNone) return;
  End(thread, time_ns, waker, loss);
}

void BlockedTime::Enter(ThreadState& thread, std::uint64_t time_ns,
                        const LossState& loss) {
  if (thread.sleep == ThreadState::Sleep::kBlocked) {
    End(thread, time_ns, Waker(), loss);
  }
  thread.sleep = ThreadState::Sleep::kNone;
  thread.left_cpu = false;
}

void BlockedTime::Finish(ThreadState& thread, std::uint64_t end_ns,
                         const LossState& loss) {
  // Of one whose end was lost nobody knows until when it blocked.
  if (thread.sleep != ThreadState::Sleep::kBlocked || thread.retired) return;
  Waker none;
  none.kind = WakerKind::kStillBlocked;
  End(thread, std::max(end_ns, thread.sleep_since_ns), none, loss);
}

void BlockedTime::End(ThreadState& thread, std::uint64_t time_ns,
                      const Waker& waker, const LossState& loss) {
  thread.sleep = ThreadState::Sleep::kNone;
  Interval interval;
  interval.ns = time_ns - std::min(thread.sleep_since_ns, time_ns);
  thread.blocked_ns += interval.ns;
  // Records that were lost meanwhile may have been of its running.
  interval.sure = thread.sleep_sure && !loss.lossy &&
                  thread.sleep_loss_epoch == loss.epoch && !thread.hooks_lost;
  Key& key = interval.key;
  key.process = thread.process;
  if (thread.process == nullptr) key.thread = &thread;
  key.kind = waker.kind;
  if (waker.thread != nullptr) {
    key.waker_process = waker.thread->process;
    if (waker.thread->process == nullptr) key.waker_thread = waker.thread;
  }
  if (thread.left_cpu) key.place = thread.off_cpu_in;
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
