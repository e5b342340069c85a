// Interrupts in the accounts of a CPU: the occupant stays the same, but the
// time and counts until the interrupt is over are not its own.
#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

using logformat::EventRecord;

void DispatchTracker::AttributePart(CpuState& cpu, const EventRecord& record,
                                    std::uint64_t time_ns) {
  const bool known = cpu.occupant != CpuState::Occupant::kUnknown;
  AttributedInterval part = AttributeTime(cpu, time_ns, known);
  if (record.counters != nullptr) {
    AttributeDump(cpu, record, part);
    EmitCounters(record, time_ns);
    return;
  }
  part.switched = false;
  AddUncounted(cpu, part);
}

void DispatchTracker::OnDump(const EventRecord& record, std::int32_t tid,
                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr || !cpu->begun || cpu->lossy) return;
  // This thread's switch-in is missing; the next dispatch record decides.
  if (!Confirm(*cpu, tid)) return;
  AttributePart(*cpu, record, time_ns);
}

ThreadState* DispatchTracker::EnterInterrupt(const EventRecord& record,
                                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr) return nullptr;
  ThreadState& work = cpu->interrupt_work;
  if (!cpu->begun || cpu->lossy) return &work;
  // A nested interrupt is in the same account; only its counts matter.
  if (cpu->open_interrupts == 0 || record.counters != nullptr) {
    AttributePart(*cpu, record, time_ns);
  }
  if (cpu->open_interrupts++ == 0) {
    if (cpu->thread != nullptr) cpu->thread->dispatch.interrupted = true;
    work.dispatch.running_cpu = record.cpu;
    work.dispatch.switch_in_ns = time_ns;
    work.dispatch.sure = true;
    ++work.dispatch.serial;
  }
  return &work;
}

ThreadState* DispatchTracker::LeaveInterrupt(const EventRecord& record,
                                             std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr) return nullptr;
  ThreadState& work = cpu->interrupt_work;
  // It was entered before the recording, or before a loss.
  if (cpu->open_interrupts == 0) return &work;
  if (cpu->open_interrupts == 1 || record.counters != nullptr) {
    AttributePart(*cpu, record, time_ns);
  }
  if (--cpu->open_interrupts == 0) {
    work.dispatch.running_cpu = -1;
    if (cpu->thread != nullptr) {
      cpu->thread->dispatch.interrupted = false;
      cpu->thread->dispatch.switch_in_ns = time_ns;
    }
  }
  return &work;
}

ThreadState* DispatchTracker::InterruptWork(std::int32_t cpu_number) const {
  CpuState* cpu = FindCpu(cpu_number);
  return cpu == nullptr ? nullptr : &cpu->interrupt_work;
}

void DispatchTracker::CloseInterrupts(CpuState& cpu, std::uint64_t time_ns) {
  if (cpu.open_interrupts == 0) return;
  AttributedInterval part = AttributeTime(cpu, time_ns, true);
  part.switched = false;
  AddUncounted(cpu, part);
  cpu.open_interrupts = 0;
  cpu.interrupt_work.dispatch.running_cpu = -1;
  if (cpu.thread != nullptr) {
    cpu.thread->dispatch.interrupted = false;
    cpu.thread->dispatch.switch_in_ns = time_ns;
  }
}

}  // namespace countrace::rmap
