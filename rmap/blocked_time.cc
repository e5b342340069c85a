#include "rmap/blocked_time.h"

#include <algorithm>

#include "logformat/packet_layout.h"
#include "rmap/segment_worker.h"

namespace countrace::rmap {

PathNode* BlockedTime::PlaceOf(const ThreadState& thread) const {
  if (!thread.left_cpu) return nullptr;
  if (thread.lane == nullptr) return thread.off_cpu_in;
  worker_->Settle(thread);
  return thread.lane_place;
}

void BlockedTime::AddWait(ThreadState& thread, std::uint64_t ns) const {
  if (!thread.left_cpu) return;
  if (thread.lane != nullptr) {
    SegmentWorker::AddWait(thread, ns);
  } else if (thread.off_cpu_in != nullptr) {
    thread.off_cpu_in->wait_ns += ns;
  }
}

void BlockedTime::Leave(ThreadState& thread, std::uint64_t time_ns,
                        std::uint16_t state, const LossState& loss) {
  using Sleep = ThreadState::Sleep;
  thread.left_cpu = true;
  if (thread.lane != nullptr) {
    worker_->NotePlace(thread);
  } else {
    thread.off_cpu_in = thread.stack.Top();
  }
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
  const std::uint64_t ns = time_ns - std::min(thread.sleep_since_ns, time_ns);
  thread.blocked_ns += ns;
  PathNode* const place = PlaceOf(thread);
  if (place != nullptr) place->blocked_ns += ns;
  Key key{};
  key.process = thread.process;
  if (thread.process == nullptr) key.thread = &thread;
  key.place = place;
  key.kind = waker.kind;
  if (waker.thread != nullptr) {
    key.waker_process = waker.thread->process;
    if (waker.thread->process == nullptr) key.waker_thread = waker.thread;
  }
  key.hook_id = waker.hook_id;
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
  sum.ns += ns;
  sum.longest_ns = std::max(sum.longest_ns, ns);
  // Records that were lost meanwhile may have been of its running.
  const bool sure = thread.sleep_sure && !loss.lossy &&
                    thread.sleep_loss_epoch == loss.epoch && !thread.hooks_lost;
  if (!sure) sum.quality = Quality::kBounded;
}

}  // namespace countrace::rmap
