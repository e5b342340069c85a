// Wake-up records: when a thread becomes runnable, and what made it so.
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::EventRecord;

void DispatchTracker::OnWakeup(const EventRecord& record,
                               std::uint64_t time_ns) {
  const auto tids = TidsOf(record);
  if (!tids) {
    ++malformed_;
    return;
  }
  blocked_.NoteWakeup();
  const auto [waker, wakee, cpu] = *tids;
  ThreadState* thread = Resolve(wakee, time_ns);
  // A thread that runs is not asleep yet: either it will not sleep, or the
  // clocks show its wake-up too early. A waiting thread was woken before.
  if (thread == nullptr || thread->dispatch.running_cpu >= 0 ||
      thread->dispatch.waiting)
    return;
  See(*thread, time_ns);
  blocked_.Wake(*thread, time_ns, WakerOf(record, waker, wakee));
  thread->dispatch.waiting = true;
  thread->dispatch.runnable_since_ns = time_ns;
  thread->dispatch.queued_cpu = -1;
  thread->dispatch.throttled = false;
}

Waker DispatchTracker::WakerOf(const EventRecord& record,
                               std::int32_t waker_tid,
                               std::int32_t wakee_tid) const {
  CpuState* const cpu = FindCpu(record.cpu);
  // Lost: the begin of an interrupt that is open, or a fork.
  const bool sure = coverage_.loss_epoch == 0 ||
                    (cpu != nullptr && cpu->begun() && !cpu->lost() &&
                     cpu->interrupts_unknown_since_ns == 0);
  if (cpu != nullptr && cpu->open_interrupts != 0) {
    return {WakerKind::kInterrupt, nullptr, &cpu->interrupt_work, sure};
  }
  // A sleeping thread cannot wake itself.
  if (waker_tid == wakee_tid) {
    return {WakerKind::kInterrupt, nullptr, nullptr, sure};
  }
  if (waker_tid == 0) return {WakerKind::kIdle, nullptr, nullptr, sure};
  ThreadState* const thread = cpu != nullptr && cpu->thread() != nullptr &&
                                      cpu->thread()->tid == waker_tid
                                  ? cpu->thread()
                                  : registry_.Find(waker_tid);
  if (thread == nullptr || !registry_.Counts(*thread)) {
    return {WakerKind::kOutside, nullptr, nullptr, coverage_.loss_epoch == 0};
  }
  const bool placed =
      thread->unseen.stack_since_ns == UnseenState::kNever &&
      !thread->hooks_lost &&
      !(thread->process != nullptr && thread->process->hooks_lost);
  return {WakerKind::kThread, thread, thread, sure && placed};
}

}  // namespace countrace::rmap
