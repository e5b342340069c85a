// Interrupts in the accounts of a CPU: the occupant stays the same, but the
// time and counts until the interrupt is over are not its own.
#include <algorithm>

#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

using logformat::EventRecord;

void DispatchTracker::AttributePart(CpuState& cpu, const EventRecord& record,
                                    std::uint64_t time_ns) {
  NoteHidden(cpu, record);
  AttributedInterval part = AttributeTime(cpu, time_ns, cpu.known());
  if (record.counters != nullptr) {
    AttributeDump(cpu, record, part);
    EmitCounters(cpu, record, time_ns);
    return;
  }
  part.switched = false;
  AddUncounted(cpu, part);
}

void DispatchTracker::OnDump(const EventRecord& record, std::int32_t tid,
                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr || !cpu->begun() || cpu->lost()) return;
  // Else this thread's switch-in is missing; the next dispatch record decides.
  if (UnseenSwitches(*cpu, record) == 0 && !Confirm(*cpu, tid)) return;
  AttributePart(*cpu, record, time_ns);
}

ThreadState* DispatchTracker::EnterInterrupt(const EventRecord& record,
                                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr) return nullptr;
  ThreadState& work = cpu->interrupt_work;
  if (!cpu->begun() || cpu->lost()) return &work;
  // A nested interrupt is in the same account; only its counts matter.
  if (cpu->open_interrupts == 0) BeginUnconfirmed(*cpu);
  if (cpu->open_interrupts == 0 || record.counters != nullptr) {
    AttributePart(*cpu, record, time_ns);
  }
  if (cpu->open_interrupts++ == 0) {
    cpu->interrupts_since_ns = time_ns;
    cpu->interrupts_counted = record.counters != nullptr;
    if (cpu->thread() != nullptr) cpu->thread()->dispatch.interrupted = true;
    work.dispatch.running_cpu = record.cpu;
    work.dispatch.switch_in_ns = time_ns;
    work.dispatch.sure = true;
    ++work.dispatch.serial;
  }
  return &work;
}

ThreadState* DispatchTracker::LeaveInterrupt(const EventRecord& record,
                                             std::uint32_t hook_id,
                                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr) return nullptr;
  ThreadState& work = cpu->interrupt_work;
  // Those inside it are over, too, though their exits did not come.
  const std::vector<Frame>& frames = work.stack.frames;
  const auto entered = std::find_if(
      frames.rbegin(), frames.rend(),
      [hook_id](const Frame& frame) { return frame.hook_id == hook_id; });
  const bool open = entered != frames.rend();
  // It was entered before the recording, or before a loss.
  if (cpu->open_interrupts == 0 || (!open && cpu->earlier_interrupts == 0)) {
    return &work;
  }
  // Those that were open when the tables began are around all others.
  std::uint32_t left = 0;
  if (open) {
    const auto over = static_cast<std::uint32_t>(entered - frames.rbegin()) + 1;
    left =
        std::max(cpu->earlier_interrupts,
                 cpu->open_interrupts - std::min(cpu->open_interrupts, over));
  } else {
    left = --cpu->earlier_interrupts;
  }
  if (left == 0 || record.counters != nullptr) {
    AttributePart(*cpu, record, time_ns);
  }
  cpu->open_interrupts = left;
  if (left == 0) {
    work.dispatch.running_cpu = -1;
    if (cpu->thread() != nullptr) {
      cpu->thread()->dispatch.interrupted = false;
      cpu->thread()->dispatch.switch_in_ns = time_ns;
    }
  }
  return &work;
}

ThreadState* DispatchTracker::InterruptWork(std::int32_t cpu_number) const {
  CpuState* cpu = FindCpu(cpu_number);
  return cpu == nullptr ? nullptr : &cpu->interrupt_work;
}

void DispatchTracker::CloseInterrupts(CpuState& cpu, std::uint64_t time_ns,
                                      bool switches) {
  if (cpu.open_interrupts == 0) return;
  AttributedInterval part = AttributeTime(cpu, time_ns, true);
  part.switched = false;
  AddUncounted(cpu, part);
  cpu.open_interrupts = cpu.earlier_interrupts = 0;
  cpu.interrupt_work.dispatch.running_cpu = -1;
  if (cpu.thread() != nullptr) {
    cpu.thread()->dispatch.interrupted = false;
    cpu.thread()->dispatch.switch_in_ns = time_ns;
  }
  if (!switches) return;
  // Their exits are missing: they may have ended at once.
  if (queues_.wanted()) queues_.DoubtInterrupts(cpu, cpu.interrupts_since_ns);
  const std::uint64_t ns = time_ns - cpu.interrupts_since_ns;
  cpu.unended_ns[static_cast<std::size_t>(cpu.occupant())] += ns;
  if (cpu.thread() == nullptr) return;
  unseen_.HideUnended(*cpu.thread(), ns);
  for (std::size_t i = 0; i < events_; ++i) {
    switch (kinds_[i]) {
      case CounterKind::kClock:
      case CounterKind::kRunTime:
        cpu.thread()->unseen.AddCount(i, ns);
        if (observer_ != nullptr) {
          observer_->OnUnseen({cpu.interrupts_since_ns, time_ns,
                               static_cast<std::uint32_t>(i), ns});
        }
        break;
      case CounterKind::kBusy:
      case CounterKind::kOther:
        if (cpu.interrupts_counted) {
          cpu.thread()->unseen.AddCount(i, Bounds::kNone);
        }
        break;
      case CounterKind::kSwitches:
      case CounterKind::kFaults:
      case CounterKind::kFaultsOfMode:
        break;  // they stayed with the thread
    }
  }
}

}  // namespace countrace::rmap
