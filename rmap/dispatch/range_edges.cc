// The part of DispatchTracker for tables of a range of the trace. Records
// before it are processed as all others are; then every sum is dropped, and
// what goes on (dispatches, waits, calls, losses) counts from the range's begin
// on. At its end the first record behind it says who has each CPU.
#include <algorithm>
#include <optional>
#include <utility>

#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::CpuEvent;
using logformat::EventRecord;

namespace {

void BeginAt(std::uint64_t time_ns, std::uint64_t& since_ns) {
  since_ns = std::max(since_ns, time_ns);
}

void ForgetSums(ThreadState& thread, std::uint64_t time_ns) {
  DispatchState& dispatch = thread.dispatch;
  BeginAt(time_ns, dispatch.switch_in_ns);
  BeginAt(time_ns, dispatch.runnable_since_ns);
  dispatch.on_cpu_ns = dispatch.unbooked_ns = dispatch.wait_ns = 0;
  dispatch.throttled_ns = 0;
  dispatch.dispatches = dispatch.migrations = dispatch.switches_out = 0;
  dispatch.faults = 0;
  dispatch.unseen_switches = 0;
  dispatch.switch_inferred = dispatch.split_by_exec = false;
  BeginAt(time_ns, thread.blocked.since_ns);
  thread.blocked.total_ns = 0;
  std::fill(thread.kernel.counts.begin(), thread.kernel.counts.end(), 0);
  thread.kernel.slices.clear();
}

void ForgetSums(CpuState& cpu, std::uint64_t time_ns) {
  for (CpuAccount* account : {&cpu.busy, &cpu.idle, &cpu.outside,
                              &cpu.interrupts, &cpu.unattributed}) {
    *account = CpuAccount();
  }
  cpu.records.fill(0);
  cpu.unended_ns.fill(0);
  cpu.absent_ns = cpu.cuts = cpu.dispatches = cpu.faults = 0;
  cpu.all_lost_records = 0;
  cpu.dispatch.interrupts_ns = 0;
  if (cpu.interrupts_unknown_since_ns != 0) {
    BeginAt(time_ns, cpu.interrupts_unknown_since_ns);
  }
  cpu.BeginRange(time_ns);
  if (!cpu.begun()) return;
  CutCounts(cpu, time_ns);
  cpu.begin_ns = cpu.last_ns = time_ns;
  if (cpu.open_interrupts != 0) BeginAt(time_ns, cpu.interrupts_since_ns);
}

}  // namespace

void DispatchTracker::BeginRange(std::uint64_t time_ns) {
  // What comes before has no sums to take back.
  for (CpuState& cpu : cpus_) ConfirmOccupant(cpu);
  begin_of_trace_ns_ = time_ns;
  coverage_.range_begin_ns = time_ns;
  unseen_.BeginRange(time_ns);
  const auto forget = [&](ThreadState& thread) {
    // Where it was last may be older than a loss.
    thread.dispatch.last_cpu_unsure |= thread.unseen.any() ||
                                       thread.unseen.in_loss ||
                                       unseen_.BegunSince(thread.unseen);
    ForgetSums(thread, time_ns);
    unseen_.ForgetSums(thread);
  };
  for (ThreadState& thread : registry_.threads()) forget(thread);
  for (CpuState& cpu : cpus_) {
    ForgetSums(cpu, time_ns);
    forget(cpu.interrupt_work);
  }
  blocked_.ForgetSums();
  queues_.ForgetSums();
  doubts_ = CounterDoubts();
  cut_ns_ = contradictions_ = malformed_ = 0;
}

std::optional<std::int32_t> DispatchTracker::OccupantBefore(
    const EventRecord& record) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch:
    case CpuEvent::kSwitchIn:
      if (const auto tids = TidsOf(record)) return tids->first;
      return std::nullopt;
    case CpuEvent::kCounters: {
      logformat::CountersRecord dump;
      if (!Decode(record, dump)) return std::nullopt;
      return dump.running_tid == logformat::kRunningTidUnknown
                 ? -1
                 : static_cast<std::int32_t>(dump.running_tid);
    }
    default:
      return std::nullopt;
  }
}

void DispatchTracker::EndRange(const EventRecord& record, std::int32_t tid,
                               std::uint64_t time_ns) {
  CpuState* const cpu = FindCpu(record.cpu);
  if (IsBegin(record)) {
    coverage_.earliest_end_ns =
        std::min(coverage_.earliest_end_ns, cpu->last_ns);
    FinishCut(*cpu, time_ns);
    cpu->End();
    return;
  }
  CloseInterrupts(*cpu, time_ns, /*switches=*/false);
  const bool known =
      !cpu->lost() && (tid < 0 ? cpu->known() : Confirm(*cpu, tid));
  if (!known) Abandon(*cpu, time_ns);
  if (cpu->lost()) {
    NoteLoss(time_ns);
  } else if (!known) {
    Hide(*cpu, time_ns);
  }
  const AttributedInterval last = AttributeTime(*cpu, time_ns, known);
  const std::uint64_t since_ns = BeginOf(*cpu, last);
  const bool at_edge = record.time_ns == time_ns && !coverage_.paused &&
                       cpu->counters.pause_edges == coverage_.pause_edges;
  AttributeCountsUpTo(*cpu, Measured(record), kinds_, last, dumps_.rotating(),
                      at_edge);
  if (cpu->counters.any_unknown) TakeUnknown(*cpu, since_ns);
  EndLoss(*cpu, time_ns);
  ConfirmOccupant(*cpu);  // nothing contradicts it any more
  EmitDispatch(*cpu, cpu->last_ns, 0, /*inferred=*/true);
  EndCpu(*cpu, time_ns);
}

void DispatchTracker::SettleBehind(const EventRecord& record) {
  const auto event = static_cast<CpuEvent>(record.event_id);
  const bool woken = event == CpuEvent::kWakeup;
  const auto tids = TidsOf(record);
  if (!tids || !(woken || event == CpuEvent::kDispatch ||
                 event == CpuEvent::kSwitchIn)) {
    return;
  }
  if (woken) blocked_.NoteWakeup();
  // Who is woken, or gets the CPU.
  ThreadState* const thread =
      tids->second == 0 ? nullptr : registry_.Find(tids->second);
  // After a loss it may be from another sleep.
  if (thread != nullptr && !thread->unseen.in_loss &&
      !unseen_.BegunSince(thread->unseen)) {
    BlockedTime::Settle(*thread, woken);
  }
}

void DispatchTracker::LoseBehind(std::uint64_t time_ns) {
  if (std::exchange(lost_behind_, true)) return;
  for (ThreadState& thread : registry_.threads()) {
    BlockedTime::EndPerhaps(thread, time_ns);
  }
}

}  // namespace countrace::rmap
