// The part of DispatchTracker for switches that the kernel did not show, though
// no record was lost. A record contradicts the occupant of a CPU: it names
// another thread there, or the occupant on another CPU, or the CPU has counted
// more context switches than records show. Then the CPU's owner is unknown from
// the last record that named it to the next one that does.
#include <algorithm>
#include <utility>

#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

void DispatchTracker::LeaveOther(ThreadState& thread, std::int32_t cpu,
                                 std::uint64_t time_ns) {
  if (thread.dispatch.running_cpu == cpu) return;
  // Its hooks have read this time of its clock.
  const std::uint64_t clock_ns =
      std::exchange(thread.dispatch.interrupted, false)
          ? 0
          : Less(thread.hooks.last_ns, thread.dispatch.switch_in_ns);
  thread.dispatch.unbooked_ns += clock_ns;
  // Its record there may have this very time, and come later.
  left_.push_back({FindCpu(thread.dispatch.running_cpu), clock_ns});
  left_ns_ = time_ns;
}

void DispatchTracker::ContradictLeft() {
  for (const Left& left : left_) {
    if (RunsElsewhere(*left.cpu)) Contradict(*left.cpu);
  }
  left_.clear();
}

std::uint64_t DispatchTracker::SwitchesBeyond(const CpuState& cpu,
                                              std::uint64_t count) const {
  const CpuCounters& counters = cpu.counters;
  // A counter that another program reset, or that is no counter since then.
  if (counters.doubted.Has(switches_)) return 0;
  std::uint64_t expected = 0;
  for (const AttributedInterval& part : counters.uncounted) {
    expected += (part.switched ? 1u : 0u) + (part.hidden ? 1u : 0u);
  }
  return count - std::min(count, expected);
}

void DispatchTracker::Contradict(CpuState& cpu) {
  const std::uint64_t since_ns = TakeBack(cpu);
  if (cpu.thread() != nullptr || since_ns > cpu.dispatch.begin_ns) {
    EmitDispatch(cpu, since_ns, 0, true);
  }
  AddStrayFaults(cpu, cpu.thread(), std::exchange(cpu.faults, 0));
  if (cpu.thread() != nullptr) ++cpu.thread()->dispatch.unseen_switches;
  if (cpu.RunsHere()) {
    ThreadState& thread = *cpu.thread();
    if (thread.hooks.last_ns > thread.dispatch.switch_in_ns) {
      thread.dispatch.unbooked_ns +=
          thread.hooks.last_ns - thread.dispatch.switch_in_ns;
    }
    thread.dispatch.running_cpu = -1;
    thread.dispatch.waiting = thread.dispatch.interrupted = false;
    unseen_.LeaveUnseen(thread, since_ns);
  }
  cpu.Hide(since_ns);
  cpu.hidden_switches = 0;
}

void DispatchTracker::Abandon(CpuState& cpu, std::uint64_t time_ns) {
  if (cpu.lost()) return;  // BeginLoss() did
  if (!cpu.hidden()) Contradict(cpu);
  cpu.Reveal();
  const std::uint64_t since_ns = cpu.since_ns();
  if (observer_ != nullptr) {
    observer_->OnLoss({static_cast<std::int32_t>(cpu.cpu), kNoThread, since_ns,
                       time_ns, 0, "missing_dispatch"});
    // One of the thread that left without a record, one of the next.
    observer_->OnUnseen({since_ns, time_ns, std::nullopt, 2});
  }
  ++contradictions_;
  cpu.hidden_dead.clear();
  if (cpu.left() != nullptr && cpu.left()->dispatch.dead) {
    HideDead(cpu, *cpu.left(), time_ns - since_ns);
  }
}

void DispatchTracker::HideDead(CpuState& cpu, ThreadState& thread,
                               std::uint64_t ns) {
  UnseenTime::HideDead(thread, ns);
  if (thread.process != nullptr) thread.process->settled = false;
  cpu.hidden_dead.push_back(&thread);
}

void DispatchTracker::EndContradiction(CpuState& cpu, std::uint64_t time_ns) {
  if (!cpu.hidden()) return;
  Abandon(cpu, time_ns);
  Hide(cpu, time_ns);
}

void DispatchTracker::Hide(CpuState& cpu, std::uint64_t time_ns) {
  const std::uint64_t begin_ns = cpu.since_ns();
  const bool visited = cpu.hidden_switches > 1;
  unseen_.Hide(begin_ns, time_ns, visited);
  if (visited) {
    for (ThreadState& thread : registry_.threads()) {
      if (!thread.dispatch.dead || thread.last_seen_ns <= begin_ns ||
          &thread == cpu.left()) {
        continue;
      }
      HideDead(cpu, thread, std::min(thread.last_seen_ns, time_ns) - begin_ns);
    }
  }
  for (const CpuState& other : cpus_) {
    if (&other == &cpu || other.thread() == nullptr ||
        other.dispatch.begin_ns <= begin_ns) {
      continue;
    }
    const std::uint64_t ns =
        std::min(other.dispatch.begin_ns, time_ns) - begin_ns;
    other.thread()->unseen.hidden_ns += ns;
    other.thread()->unseen.unknown_ns += ns;
  }
  // At most as many dispatches as switches, which only a counter shows.
  if (std::find(kinds_.begin(), kinds_.end(), CounterKind::kSwitches) !=
      kinds_.end()) {
    return;  // TakeUnknown() adds them
  }
  std::vector<std::uint64_t> counts(events_ + 1, 0);
  counts[events_] = Bounds::kNone;
  AddUnknown(cpu, begin_ns, counts);
}

}  // namespace countrace::rmap
