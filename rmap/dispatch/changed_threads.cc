// In the middle of a dispatch its thread changes: it calls exec, or its process
// is counted from here on or no longer.
#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

void DispatchTracker::TransferRunning(std::int32_t cpu_number, ThreadState& to,
                                      std::uint64_t time_ns) {
  CpuState* cpu = Cpu(cpu_number);
  if (cpu == nullptr || cpu->thread() == nullptr || cpu->thread() == &to)
    return;
  ConfirmOccupant(*cpu);
  // There is no dump here: the time is split; the counts of the interval go to
  // `to` when it leaves. Both are threads of one process.
  ThreadState& from = *cpu->thread();
  from.dispatch.split_by_exec = to.dispatch.split_by_exec = true;
  if (observer_ != nullptr) {
    observer_->OnInferredSwitch({from.index, time_ns, /*split=*/true});
    observer_->OnInferredSwitch({to.index, time_ns, /*split=*/true});
  }
  const std::uint64_t part_ns = time_ns - cpu->last_ns;
  if (queues_.wanted()) {
    queues_.OnTime(*cpu, {.account = &cpu->busy,
                          .thread = &from,
                          .ns = part_ns,
                          .begin_ns = cpu->last_ns,
                          .end_ns = time_ns});
  }
  cpu->busy.ns += part_ns;
  from.dispatch.on_cpu_ns += part_ns;
  from.dispatch.running_cpu = -1;
  unseen_.Leave(from, time_ns);
  if (observer_ != nullptr && part_ns != 0) {
    observer_->OnTime(
        {cpu->cpu, Account::kProcesses, from.index, cpu->last_ns, time_ns});
  }
  cpu->last_ns = time_ns;
  EmitDispatch(*cpu, cpu->last_ns, 0, true);
  cpu->Occupy(&to, to.tid, /*outside=*/false);
  cpu->dispatch.begin_ns = time_ns;
  cpu->dispatch.inferred = true;
  cpu->dispatch.pause_edges = coverage_.pause_edges;
  BeginDispatchCounts(*cpu, events_);
  cpu->dispatch.interrupts_ns = 0;
  CountUnlessPaused(cpu->dispatches);
  SwitchIn(to, cpu_number, time_ns);
}

ThreadState* DispatchTracker::TransferOutside(std::int32_t cpu_number,
                                              const ThreadState& to) {
  CpuState* cpu = Cpu(cpu_number);
  if (cpu == nullptr || !cpu->is_outside() || cpu->tid() == to.tid) {
    return nullptr;
  }
  ThreadState* const from = registry_.Find(cpu->tid());
  if (from == nullptr || from->process != to.process) return nullptr;
  cpu->Occupy(nullptr, to.tid, /*outside=*/true);
  return from;
}

void DispatchTracker::Regate(const ProcessState& process) {
  for (CpuState& cpu : cpus_) {
    if (process.counted) {
      if (!cpu.is_outside() || cpu.tid() == 0) continue;
      const ThreadState* outside = registry_.Find(cpu.tid());
      if (outside != nullptr && outside->process == &process) {
        Confirm(cpu, cpu.tid());
      }
      continue;
    }
    ThreadState* const thread = cpu.thread();
    if (thread == nullptr || thread->process != &process) continue;
    ConfirmOccupant(cpu);
    // Those that began in a pause, between two edges, are in no number.
    if (cpu.dispatch.pause_edges % 2 == 0) {
      --thread->dispatch.dispatches;
      --cpu.dispatches;
    }
    thread->dispatch.running_cpu = -1;
    unseen_.Leave(*thread, cpu.last_ns);
    cpu.Occupy(nullptr, thread->tid, /*outside=*/true);
  }
}

}  // namespace countrace::rmap
