// The part of DispatchTracker for intervals of a CPU whose records were lost,
// and for the counts of all intervals without a known occupant.
#include <algorithm>
#include <utility>

#include "rmap/dispatch/dispatch_tracker.h"

namespace countrace::rmap {

bool DispatchTracker::AnyOpen() const {
  return std::ranges::any_of(cpus_, &CpuState::open);
}

void DispatchTracker::NoteLoss(std::uint64_t since_ns) {
  ++coverage_.loss_epoch;
  registry_.NoteLoss();
  blocked_.NoteLoss();
  if (observer_ != nullptr) observer_->OnOwnersUnknown(since_ns);
}

void DispatchTracker::OnLoss(std::int32_t cpu_number, std::uint64_t begin_ns,
                             std::uint64_t records) {
  CpuState* cpu = Cpu(cpu_number);
  if (cpu == nullptr) return;
  if (!cpu->lost()) {
    BeginLoss(*cpu,
              cpu->begun() ? std::max(cpu->seen_ns, cpu->last_ns)
                           : std::min(begin_ns, begin_of_trace_ns_),
              begin_ns);
  }
  cpu->lost_records = AddBounded(cpu->lost_records, records);
}

void DispatchTracker::BeginLoss(CpuState& cpu, std::uint64_t begin_ns,
                                std::uint64_t now_ns) {
  ConfirmOccupant(cpu);  // no record will contradict it
  EndContradiction(cpu, begin_ns);
  // What the CPU did up to its latest record is known.
  if (cpu.open()) {
    AttributedInterval part = AttributeTime(cpu, begin_ns, cpu.known());
    part.switched = false;
    if (part.ns + part.faults != 0) AddUncounted(cpu, part);
    EndParts(cpu);
    if (cpu.thread() != nullptr || cpu.last_ns > cpu.dispatch.begin_ns) {
      EmitDispatch(cpu, cpu.last_ns, 0, true);
    }
  }
  cpu.Lose(begin_ns);
  ++coverage_.lossy_cpus;
  if (ThreadState* const left = cpu.left(); left != nullptr) {
    DispatchState& dispatch = left->dispatch;
    dispatch.sure = false;
    dispatch.interrupted = false;
    if (dispatch.running_cpu == static_cast<std::int32_t>(cpu.cpu)) {
      dispatch.running_cpu = -1;
      dispatch.waiting = false;
      dispatch.lost_on_cpu = true;
      unseen_.Leave(*left, begin_ns);
    }
  }
  unseen_.BeginLoss(begin_ns, now_ns);
  // An open interrupt may be over: the time up to the next dump has no owner.
  cpu.open_interrupts = cpu.earlier_interrupts = 0;
  cpu.interrupt_work.dispatch.sure = false;
  cpu.interrupt_work.dispatch.running_cpu = -1;
  if (cpu.interrupts_unknown_since_ns == 0) {
    cpu.interrupts_unknown_since_ns = std::max<std::uint64_t>(begin_ns, 1);
  }
  NoteLoss(begin_ns);
  NoteOutside(cpu, begin_ns);
}

void DispatchTracker::EndLoss(CpuState& cpu, std::uint64_t end_ns) {
  if (!cpu.lost()) return;
  cpu.Reveal();
  --coverage_.lossy_cpus;
  unseen_.EndLoss(end_ns);
  // A dispatch has a record of its own.
  std::vector<std::uint64_t> counts(events_ + 1, 0);
  counts[events_] = std::exchange(cpu.lost_records, 0);
  cpu.all_lost_records = AddBounded(cpu.all_lost_records, counts[events_]);
  AddUnknown(cpu, cpu.since_ns(), counts);
  if (observer_ != nullptr) {
    // The thread that has the CPU after it may have begun inside.
    observer_->OnUnseen(
        {cpu.since_ns(), end_ns, std::nullopt,
         1 + (counts[events_] == Bounds::kNone ? 0 : counts[events_])});
  }
}

void DispatchTracker::SeeUnknown(ThreadState& thread, std::uint64_t time_ns) {
  unseen_.See(thread, time_ns);
  // It waited or blocked up to the loss at least.
  const std::uint64_t unknown_ns = std::exchange(thread.unseen.latest_ns, 0);
  if (unknown_ns == 0) return;
  const std::uint64_t end_ns = time_ns - std::min(time_ns, unknown_ns);
  if (thread.dispatch.waiting && end_ns > thread.dispatch.runnable_since_ns) {
    EndWait(thread, end_ns);
  }
  thread.dispatch.waiting = false;
  blocked_.EndUnseen(thread, end_ns);
}

void DispatchTracker::TakeUnknown(CpuState& cpu, std::uint64_t since_ns) {
  since_ns = std::min(since_ns,
                      std::exchange(cpu.counters.unknown_since_ns, UINT64_MAX));
  std::vector<std::uint64_t> counts(events_ + 1, 0);
  for (std::size_t i = 0; i < events_; ++i) {
    counts[i] = cpu.counters.unknown[i];
    if (kinds_[i] == CounterKind::kSwitches) counts[events_] = counts[i];
  }
  cpu.counters.unknown.fill(0);
  cpu.counters.any_unknown = false;
  AddUnknown(cpu, since_ns, counts);
  if (observer_ == nullptr) return;
  for (std::uint32_t i = 0; i <= events_; ++i) {
    if (counts[i] == 0) continue;
    observer_->OnUnseen({since_ns, cpu.last_ns,
                         i < events_ ? std::optional(i) : std::nullopt,
                         counts[i]});
  }
}

void DispatchTracker::AddUnknown(const CpuState& cpu, std::uint64_t since_ns,
                                 const std::vector<std::uint64_t>& counts) {
  if (std::all_of(counts.begin(), counts.end(),
                  [](std::uint64_t count) { return count == 0; })) {
    return;
  }
  unseen_.AddCounts(counts);
  for (ThreadState* const thread : cpu.hidden_dead) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      thread->unseen.AddCount(i, counts[i]);
    }
  }
  // A thread that runs now was perhaps on no known CPU before.
  for (const CpuState& other : cpus_) {
    if (other.thread() == nullptr || other.dispatch.begin_ns <= since_ns) {
      continue;
    }
    // A thread on `cpu` itself has its share of this dump's counts.
    const std::size_t first = &other == &cpu ? events_ : 0;
    for (std::size_t i = first; i < counts.size(); ++i) {
      other.thread()->unseen.AddCount(i, counts[i]);
    }
  }
}

void DispatchTracker::NoteOutside(CpuState& cpu, std::uint64_t time_ns) {
  const bool unknown = cpu.is_outside() &&
                       registry_.gate().records_marked_only() &&
                       cpu.tid() != 0 && registry_.Find(cpu.tid()) == nullptr;
  if (unknown == cpu.outside_unknown) return;
  cpu.outside_unknown = unknown;
  outside_unknown_ += unknown ? 1 : std::uint32_t(-1);
  unseen_.SetOutside(time_ns, outside_unknown_);
}

void DispatchTracker::OnFork(ThreadState& child, std::uint64_t time_ns) {
  if (unseen_.none() || child.dispatch.running_cpu >= 0) return;
  unseen_.Leave(child, time_ns);
  if (child.tid == child.process->pid && child.process->threads.size() == 1) {
    unseen_.Begin(*child.process);
  }
}

void DispatchTracker::FinishCut(CpuState& cpu, std::uint64_t end_ns) {
  const bool declared = cpu.lost();
  if (declared) {
    NoteLoss(cpu.since_ns());
  } else {
    BeginLoss(cpu, cpu.last_ns, end_ns);
  }
  ++cpu.cuts;
  const MeasureSet shown =
      AttributeRecordedFaults(cpu, kinds_, dumps_.rotating());
  if (observer_ != nullptr && !shown.empty()) {
    observer_->OnCounters(
        {cpu.cpu, cpu.last_ns, cpu.counters.last, shown, true});
  }
  // Other counts after the last dump are in no account.
  const std::vector<std::uint64_t> counts(events_ + 1, Bounds::kNone);
  AddUnknown(cpu, cpu.since_ns(), counts);
  EndLoss(cpu, end_ns);
  if (declared) return;
  // It is noticed late, so that these threads were on known CPUs meanwhile, as
  // far as their own records show.
  const std::uint64_t ns = end_ns - std::min(end_ns, cpu.since_ns());
  cut_ns_ += ns;
  if (observer_ != nullptr && ns != 0) {
    observer_->OnLoss({static_cast<std::int32_t>(cpu.cpu), kNoThread,
                       cpu.since_ns(), end_ns, 0, "no_last_dump"});
  }
  for (ThreadState& thread : registry_.threads()) {
    if (thread.last_seen_ns < cpu.since_ns()) continue;
    // See() adds it for the others.
    if (thread.dispatch.running_cpu >= 0 || thread.dispatch.dead) {
      thread.unseen.lost_ns += ns;
    }
    // It may have left its system call before it came to the CPU that it has.
    const CpuState* const runs_on = FindCpu(thread.dispatch.running_cpu);
    if (runs_on != nullptr && runs_on->dispatch.begin_ns > cpu.since_ns()) {
      unseen_.DoubtStack(thread, end_ns);
    }
    thread.unseen.late_ns += ns;
    if (thread.process != nullptr) {
      thread.process->kernel_unknown_ns += ns;
      thread.process->settled = false;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
      thread.unseen.AddCount(i, counts[i]);
    }
  }
}

}  // namespace countrace::rmap
