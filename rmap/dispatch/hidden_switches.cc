// The part of DispatchTracker for switches that the kernel did not show, though
// no record was lost. A record contradicts the occupant of a CPU: it names
// another thread there, or the occupant on another CPU. Then the CPU's owner is
// unknown from the last record that named it to the next one that does.
#include <algorithm>
#include <utility>

#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

void DispatchTracker::LeaveOther(ThreadState& thread, std::int32_t cpu,
                                 std::uint64_t time_ns) {
  if (thread.dispatch.running_cpu == cpu) return;
  thread.dispatch.interrupted = false;
  // Its record there may have this very time, and come later.
  left_.push_back(FindCpu(thread.dispatch.running_cpu));
  left_ns_ = time_ns;
}

void DispatchTracker::ContradictLeft() {
  for (CpuState* const cpu : left_) {
    // Without an interrupt since then, its next record decides: clocks of CPUs
    // may disagree.
    if (cpu->unconfirmed.any && RunsElsewhere(*cpu)) Contradict(*cpu);
  }
  left_.clear();
}

void DispatchTracker::Contradict(CpuState& cpu) {
  const std::uint64_t since_ns = cpu.hidden_since_ns = TakeBack(cpu);
  if (cpu.thread != nullptr || since_ns > cpu.dispatch.begin_ns) {
    EmitDispatch(cpu, since_ns, 0, true);
  }
  AddStrayFaults(cpu, cpu.thread, std::exchange(cpu.faults, 0));
  if (cpu.thread != nullptr) ++cpu.thread->dispatch.unseen_switches;
  cpu.hidden_thread = cpu.thread;
  if (cpu.thread != nullptr &&
      cpu.thread->dispatch.running_cpu == static_cast<std::int32_t>(cpu.cpu)) {
    ThreadState& thread = *cpu.thread;
    if (thread.hooks.last_ns > thread.dispatch.switch_in_ns) {
      thread.dispatch.unbooked_ns +=
          thread.hooks.last_ns - thread.dispatch.switch_in_ns;
    }
    thread.dispatch.running_cpu = -1;
    thread.dispatch.waiting = thread.dispatch.interrupted = false;
    unseen_.LeaveUnseen(thread, since_ns);
  }
  cpu.thread = nullptr;
  cpu.occupant = CpuState::Occupant::kUnknown;
  cpu.contradicted = true;
}

void DispatchTracker::Abandon(CpuState& cpu, std::uint64_t time_ns) {
  if (cpu.lossy) return;  // BeginLoss() did
  if (!cpu.contradicted) Contradict(cpu);
  cpu.contradicted = false;
  const std::uint64_t since_ns = cpu.hidden_since_ns;
  if (observer_ != nullptr) {
    observer_->OnLoss({static_cast<std::int32_t>(cpu.cpu), kNoThread, since_ns,
                       time_ns, 0, "missing_dispatch"});
    // One of the thread that left without a record, one of the next.
    observer_->OnUnseen({since_ns, time_ns, std::nullopt, 2});
  }
  ++contradictions_;
  if (cpu.hidden_thread != nullptr && cpu.hidden_thread->dispatch.dead) {
    UnseenTime::HideDead(*cpu.hidden_thread, time_ns - since_ns);
  } else {
    cpu.hidden_thread = nullptr;
  }
}

void DispatchTracker::EndContradiction(CpuState& cpu, std::uint64_t time_ns) {
  if (!cpu.contradicted) return;
  Abandon(cpu, time_ns);
  Hide(cpu, time_ns);
}

void DispatchTracker::Hide(CpuState& cpu, std::uint64_t time_ns) {
  const std::uint64_t begin_ns = cpu.hidden_since_ns;
  unseen_.Hide(begin_ns, time_ns);
  for (const CpuState& other : cpus_) {
    if (&other == &cpu || other.thread == nullptr ||
        other.dispatch.begin_ns <= begin_ns) {
      continue;
    }
    const std::uint64_t ns =
        std::min(other.dispatch.begin_ns, time_ns) - begin_ns;
    other.thread->unseen.hidden_ns += ns;
    other.thread->unseen.unknown_ns += ns;
  }
  // At most as many dispatches as switches, which only a counter shows.
  if (std::find(kinds_.begin(), kinds_.end(), CounterKind::kSwitches) !=
      kinds_.end()) {
    return;  // TakeUnknown() adds them
  }
  std::vector<std::uint64_t> counts(events_ + 1, 0);
  counts[events_] = kUnbounded;
  AddUnknown(cpu, begin_ns, counts);
}

}  // namespace countrace::rmap
