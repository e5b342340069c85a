// The switches of CPUs, one record after the other, in one file of more than
// 400 lines: the compiler inlines what each record does. Rarer records:
// wakeups.cc, changed_threads.cc, earlier_records.cc, lost_records.cc.
#include "rmap/dispatch/dispatch_tracker.h"

#include <algorithm>
#include <utility>

#include "logformat/description/listing_source.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::CountersReason;
using logformat::CountersRecord;
using logformat::EventRecord;

namespace {

// Larger CPU numbers come from damage.
constexpr std::int32_t kMaxCpu = 1 << 16;

bool HasHooksOf(const logformat::TraceInfo& info,
                logformat::HookOrigin origin) {
  return std::any_of(info.hooks.begin(), info.hooks.end(),
                     [origin](const logformat::HookInfo& hook) {
                       return hook.origin == origin;
                     });
}

std::vector<CounterKind> KindsOf(const logformat::TraceInfo& info,
                                 std::size_t sets) {
  std::vector<CounterKind> kinds = CounterKinds(info.cpu_events, sets);
  if (IsListing(info)) {
    // No record shows when they happened.
    std::fill_n(kinds.begin(), info.cpu_events.size(), CounterKind::kOther);
  }
  return kinds;
}

}  // namespace

DispatchTracker::DispatchTracker(const logformat::TraceInfo& info,
                                 ThreadRegistry& registry,
                                 TimelineObserver* observer,
                                 const WantedRows& rows)
    : info_(info),
      dumps_(info.cpu_sets()),
      events_(std::min(dumps_.measures(), kMaxMeasures)),
      kinds_(KindsOf(info, events_ - info.cpu_events.size())),
      switches_(static_cast<std::size_t>(
          std::find(kinds_.begin(), kinds_.end(), CounterKind::kSwitches) -
          kinds_.begin())),
      registry_(registry),
      observer_(observer),
      begin_of_trace_ns_(info.begin_ns),
      interrupts_recorded_(HasHooksOf(info, logformat::HookOrigin::kInterrupt)),
      blocked_(BlockedTime::kMaxRows, rows.wakers_of == RowsOf::kThread,
               observer, rows.samples),
      queues_(cpus_, rows),
      unseen_(events_, HasHooksOf(info, logformat::HookOrigin::kKernel)) {
  if (switches_ < events_ && dumps_.rotating().Has(switches_)) {
    switches_ = events_;
  }
}

CpuState* DispatchTracker::AddCpu(std::int32_t cpu) {
  if (cpu < 0 || cpu >= kMaxCpu) return nullptr;
  const auto index = static_cast<std::size_t>(cpu);
  if (index >= by_cpu_.size()) by_cpu_.resize(index + 1, nullptr);
  by_cpu_[index] = &cpus_.emplace_back();
  by_cpu_[index]->cpu = static_cast<std::uint32_t>(cpu);
  by_cpu_[index]->observer = observer_;
  ThreadState& work = by_cpu_[index]->interrupt_work;
  work.index = kNoThread;
  work.dispatch.last_cpu = cpu;
  work.process = &registry_.interrupts();
  work.kernel.counts.resize(events_, 0);
  return by_cpu_[index];
}

ThreadState* DispatchTracker::Resolve(std::int32_t tid, std::uint64_t time_ns) {
  if (tid == 0) return nullptr;
  if (!registry_.gate().records_marked_only()) {
    ThreadState& observed = registry_.Observe({-1, tid}, time_ns);
    return registry_.Counts(observed) ? &observed : nullptr;
  }
  // A marked process's thread is known by its fork record (or its hooks) before
  // it can run. An unknown tid belongs to an unmarked process.
  ThreadState* thread = registry_.ObserveKnown(tid, time_ns);
  return thread != nullptr && registry_.Counts(*thread) ? thread : nullptr;
}

void DispatchTracker::EmitCounters(CpuState& cpu, const EventRecord& record,
                                   std::uint64_t time_ns) {
  if (observer_ == nullptr || record.counters == nullptr || coverage_.paused) {
    return;
  }
  std::span<const std::uint64_t> values(record.counters, dumps_.sets().events);
  const MeasureSet present = dumps_.PresentIn(record);
  CounterValues kept;
  if (!info_.pauses.empty()) {
    // The counters go on in a pause: what the books have of them does not.
    const CpuCounters& counters = cpu.counters;
    values = values.first(std::min(values.size(), kept.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      kept[i] = counters.closed[i] + counters.last[i] - counters.first[i];
    }
    values = {kept.data(), values.size()};
  }
  if (cpu.unconfirmed.any) {
    cpu.unconfirmed.held.emplace_back(
        HeldDump{time_ns, {values.begin(), values.end()}, present});
    return;
  }
  observer_->OnCounters({cpu.cpu, time_ns, values, present});
}

void DispatchTracker::EmitDispatch(const CpuState& cpu, std::uint64_t end_ns,
                                   std::uint16_t state, bool inferred) {
  if (observer_ == nullptr || !cpu.known()) {
    return;
  }
  std::span<const std::uint64_t> counts(cpu.counters.of_dispatch.data(),
                                        events_);
  // A single dispatch has no estimate of multiplexed counts.
  if (!cpu.counters.stale.empty() || dumps_.rotates() ||
      cpu.dispatch.pause_edges != coverage_.pause_edges) {
    counts = {};
  }
  observer_->OnDispatch(
      {cpu.cpu, cpu.thread() == nullptr ? kNoThread : cpu.thread()->index,
       cpu.dispatch.begin_ns, end_ns, state, counts, cpu.dispatch.interrupts_ns,
       cpu.dispatch.inferred, inferred, cpu.is_outside()});
}

void DispatchTracker::Begin(CpuState& cpu, const EventRecord& record,
                            std::uint64_t time_ns) {
  cpu.begin_ns = cpu.last_ns = time_ns;
  coverage_.any = true;
  coverage_.latest_begin_ns = std::max(coverage_.latest_begin_ns, time_ns);
  if (cpu.lost()) {
    // What was counted before this dump is in no account.
    AddUnknown(cpu, cpu.since_ns(),
               std::vector<std::uint64_t>(events_ + 1, Bounds::kNone));
  }
  EndLoss(cpu, time_ns);
  BeginCounts(cpu, Measured(record), events_, dumps_.rotating());
  cpu.counters.pause_edges = coverage_.pause_edges;
  if (coverage_.paused && std::exchange(cpu.counters.at_switch, false)) {
    SkipSwitch(cpu);
  }
}

void DispatchTracker::Rejoin(CpuState& cpu, const EventRecord& record,
                             std::uint64_t time_ns) {
  if (dumps_.rotates()) EndTurn(cpu, dumps_);
  if (!cpu.ended()) FinishCut(cpu, time_ns);
  ConfirmOccupant(cpu);
  cpu.absent_ns += time_ns - cpu.last_ns;
  EndCounts(cpu, events_);
  cpu.faults = 0;
  const std::uint64_t begin_ns = cpu.begin_ns;
  Begin(cpu, record, time_ns);
  cpu.begin_ns = begin_ns;
}

bool DispatchTracker::Confirm(CpuState& cpu, std::int32_t tid) {
  if (!IsOccupant(cpu, tid)) return false;
  ConfirmOccupant(cpu);
  return true;
}

void DispatchTracker::SeeUnconfirmed(CpuState& cpu, std::int32_t tid) {
  if (switches_ >= events_) Confirm(cpu, tid);  // else a count will
}

bool DispatchTracker::IsOccupant(CpuState& cpu, std::int32_t tid) {
  if (!cpu.is_outside()) return cpu.known() && tid == cpu.tid();
  ThreadState* thread = tid == 0 ? nullptr : registry_.Find(tid);
  if (thread == nullptr || !registry_.Counts(*thread)) return true;
  if (tid != cpu.tid()) return false;  // its switch-in is missing
  // It counts after all: its fork was recorded after its first dispatch, or it
  // was marked meanwhile.
  cpu.Occupy(thread, tid, /*outside=*/false);
  cpu.dispatch.inferred = true;
  cpu.dispatch.pause_edges = coverage_.pause_edges;
  CountUnlessPaused(cpu.dispatches);
  SwitchIn(*thread, static_cast<std::int32_t>(cpu.cpu), cpu.last_ns);
  if (IsUnknownSinceBegin(cpu) ||
      cpu.dispatch.begin_ns < coverage_.range_begin_ns) {
    DoubtBegin(*thread);
  }
  return true;
}

AttributedInterval DispatchTracker::AttributeTime(CpuState& cpu,
                                                  std::uint64_t time_ns,
                                                  bool confirmed) {
  AttributedInterval attributed{.account = &cpu.unattributed,
                                .ns = time_ns - cpu.last_ns,
                                .begin_ns = cpu.last_ns,
                                .end_ns = time_ns,
                                .faults = std::exchange(cpu.faults, 0)};
  if (cpu.open_interrupts != 0) {
    attributed.account = &cpu.interrupts;
    attributed.thread = &cpu.interrupt_work;
    cpu.dispatch.interrupts_ns += attributed.ns;
    // They stay with the thread.
    AddStrayFaults(cpu, cpu.thread(), std::exchange(attributed.faults, 0));
  } else if (confirmed) {
    attributed.account = cpu.OccupantsAccount();
    attributed.thread = cpu.thread();
    attributed.idle = cpu.tid() == 0;
  }
  attributed.account->ns += attributed.ns;
  if (ThreadState* const thread = attributed.thread; thread != nullptr) {
    thread->dispatch.on_cpu_ns += attributed.ns;
    if (thread->dispatch.running_cpu == static_cast<std::int32_t>(cpu.cpu)) {
      thread->dispatch.switch_in_ns = time_ns;
    }
    for (Left& left : left_) {
      if (left.cpu != &cpu) continue;
      thread->dispatch.unbooked_ns -= std::min(thread->dispatch.unbooked_ns,
                                               std::exchange(left.clock_ns, 0));
    }
    ThreadRegistry::See(*thread, time_ns);
  }
  cpu.last_ns = time_ns;
  if (queues_.wanted()) [[unlikely]]
    queues_.OnTime(cpu, attributed);
  if (cpu.unconfirmed.any) [[unlikely]] {
    NoteUnconfirmed(cpu, attributed);
  } else if (observer_ != nullptr && attributed.ns != 0) [[unlikely]] {
    observer_->OnTime(
        {cpu.cpu, cpu.AccountOf(attributed.account),
         attributed.thread == nullptr ? kNoThread : attributed.thread->index,
         attributed.begin_ns, time_ns});
  }
  return attributed;
}

void DispatchTracker::Attribute(CpuState& cpu, const EventRecord& record,
                                std::uint64_t time_ns, bool confirmed) {
  if (cpu.lost()) {
    NoteLoss(time_ns);
  } else if (!confirmed) {
    cpu.hidden_switches += UnseenSwitches(cpu, record);
    Hide(cpu, time_ns);
  }
  const AttributedInterval last = AttributeTime(cpu, time_ns, confirmed);
  AttributeDump(cpu, record, last);
  EndLoss(cpu, time_ns);
}

void DispatchTracker::AttributeDump(CpuState& cpu, const EventRecord& record,
                                    const AttributedInterval& last) {
  if (dumps_.rotates()) {
    FollowTurn(cpu, dumps_, Measured(record));
  } else if (record.mmcr != cpu.counters.mmcr && record.counters != nullptr)
      [[unlikely]] {
    ChangeMmcr(cpu, record, last);
  }
  const std::uint64_t since_ns = BeginOf(cpu, last);
  if (cpu.unconfirmed.any) [[unlikely]] {
    cpu.unconfirmed.counts_begin_ns =
        std::min(cpu.unconfirmed.counts_begin_ns, since_ns);
  }
  if (const std::uint32_t edges =
          std::exchange(cpu.counters.pause_edges, coverage_.pause_edges);
      coverage_.paused || edges != coverage_.pause_edges) [[unlikely]] {
    EndTurn(cpu, dumps_);
    AttributeCountsOutside(cpu, Measured(record), kinds_, last,
                           dumps_.rotating(), edges == coverage_.pause_edges,
                           coverage_.paused);
    if (cpu.counters.any_unknown) TakeUnknown(cpu, since_ns);
    return;
  }
  MeasureSet went_back;
  if (AttributeCounts(cpu, Measured(record), kinds_, last, dumps_.rotating(),
                      went_back)) [[unlikely]]
    NoteWentBack(cpu, went_back, last);
  if (cpu.counters.any_unknown) [[unlikely]]
    TakeUnknown(cpu, since_ns);
}

void DispatchTracker::ChangeMmcr(CpuState& cpu, const EventRecord& record,
                                 const AttributedInterval& last) {
  const std::uint32_t from = cpu.counters.mmcr;
  ChangeCounts(cpu, record.mmcr, events_).ForEach([&](std::size_t i) {
    doubts_.Add(DoubtReason::kOtherMmcr, i,
                {static_cast<std::int32_t>(cpu.cpu), -1, last.begin_ns,
                 last.end_ns, from, record.mmcr});
  });
}

void DispatchTracker::NoteWentBack(const CpuState& cpu,
                                   const MeasureSet& events,
                                   const AttributedInterval& last) {
  events.ForEach([&](std::size_t i) {
    doubts_.Add(
        DoubtReason::kWentBack, i,
        {static_cast<std::int32_t>(cpu.cpu), -1, last.begin_ns, last.end_ns,
         cpu.counters.went_back_from[i], cpu.counters.last[i]});
  });
}

void DispatchTracker::OnDoubt(std::int32_t cpu_number,
                              const MeasureSet& events) {
  CpuState* cpu = Cpu(cpu_number);
  if (cpu != nullptr) DoubtCounts(*cpu, events);
}

void DispatchTracker::SwitchIn(ThreadState& thread, std::int32_t cpu,
                               std::uint64_t time_ns, bool any_cpu) {
  if (thread.dispatch.running_cpu >= 0) [[unlikely]]
    LeaveOther(thread, cpu, time_ns);
  See(thread, time_ns);
  thread.dispatch.running_cpu = cpu;
  thread.dispatch.switch_in_ns = time_ns;
  if (thread.dispatch.serial++ == 0)
    thread.dispatch.first_switch_in_ns = time_ns;
  thread.dispatch.sure = true;
  CountUnlessPaused(thread.dispatch.dispatches);
  if (thread.dispatch.last_cpu >= 0 && thread.dispatch.last_cpu != cpu)
    CountUnlessPaused(thread.dispatch.migrations);
  thread.dispatch.last_cpu = cpu;
  if (thread.dispatch.waiting && time_ns > thread.dispatch.runnable_since_ns) {
    EndWait(thread, time_ns, any_cpu);
  }
  thread.dispatch.waiting = false;
  blocked_.Enter(thread, time_ns);
}

void DispatchTracker::EndWait(ThreadState& thread, std::uint64_t time_ns,
                              bool any_cpu) {
  const std::uint64_t ns = time_ns - thread.dispatch.runnable_since_ns;
  thread.dispatch.wait_ns += ns;
  if (thread.dispatch.throttled) thread.dispatch.throttled_ns += ns;
  blocked_.AddWait(thread, ns);
  if (queues_.wanted()) [[unlikely]]
    queues_.OnWait(thread, thread.dispatch.running_cpu, time_ns, any_cpu);
  if (observer_ != nullptr) {
    observer_->OnWait(
        {thread.index, thread.dispatch.runnable_since_ns, time_ns});
  }
}

void DispatchTracker::SwitchOut(ThreadState& thread, std::int32_t cpu,
                                std::uint64_t time_ns, std::uint16_t bits) {
  const std::uint16_t state = bits & logformat::kSwitchStateBits;
  SeeRunning(thread, time_ns);
  CountUnlessPaused(thread.dispatch.switches_out);
  ThreadRegistry::See(thread, time_ns);
  // It already runs on another CPU, since clocks of CPUs disagree: it stays
  // there.
  if (thread.dispatch.running_cpu >= 0 && thread.dispatch.running_cpu != cpu)
    return;
  thread.dispatch.running_cpu = -1;
  thread.dispatch.waiting = logformat::IsRunnable(state);
  thread.dispatch.throttled = logformat::IsThrottled(state);
  saw_throttled_ |= thread.dispatch.throttled;
  thread.dispatch.runnable_since_ns = time_ns;
  thread.dispatch.queued_cpu = cpu;
  // Elsewhere it is not known which CPUs are idle.
  thread.dispatch.any_cpu = (bits & logformat::kSwitchPrevAnyCpu) != 0 &&
                            registry_.gate().counts_idle();
  blocked_.Leave(thread, time_ns, state);
  unseen_.Leave(thread, time_ns);
  if (state & logformat::kSwitchDead) {
    thread.dispatch.dead = true;
    registry_.Exit(thread, time_ns);
    registry_.Retire(thread);
  }
}

void DispatchTracker::Occupy(CpuState& cpu, std::int32_t tid,
                             std::uint64_t time_ns, bool inferred,
                             bool any_cpu) {
  cpu.Occupy(Resolve(tid, time_ns), tid,
             tid != 0 || !registry_.gate().counts_idle());
  if (cpu.thread() != nullptr) {
    CountUnlessPaused(cpu.dispatches);
    SwitchIn(*cpu.thread(), static_cast<std::int32_t>(cpu.cpu), time_ns,
             any_cpu);
  }
  cpu.dispatch.begin_ns = time_ns;
  cpu.dispatch.inferred = inferred;
  cpu.dispatch.pause_edges = coverage_.pause_edges;
  BeginDispatchCounts(cpu, events_);
  cpu.dispatch.interrupts_ns = 0;
  if (coverage_.loss_epoch != 0) [[unlikely]]
    NoteOutside(cpu, time_ns);
}

void DispatchTracker::OnRecord(std::int32_t index, std::uint64_t time_ns) {
  using Place = CpuState::RecordPlace;
  CpuState* cpu = Cpu(index);
  if (cpu == nullptr) return;
  if (!left_.empty() && time_ns > left_ns_) [[unlikely]]
    ContradictLeft();
  cpu->seen_ns = time_ns;
  const Place place = cpu->open_interrupts != 0  ? Place::kInterrupts
                      : cpu->thread() != nullptr ? Place::kProcesses
                      : cpu->occupant() == CpuState::Occupant::kIdle
                          ? Place::kIdle
                          : Place::kUnattributed;
  CountUnlessPaused(cpu->records[static_cast<std::size_t>(place)]);
}

void DispatchTracker::OnDispatch(const EventRecord& record,
                                 std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  const auto tids = TidsOf(record);
  if (cpu == nullptr || !tids) {
    ++malformed_;
    return;
  }
  const auto [prev, next, bits] = *tids;
  const std::uint16_t state = bits & logformat::kSwitchStateBits;

  CloseInterrupts(*cpu, time_ns, /*switches=*/true);
  if (cpu->interrupts_unknown_since_ns != 0) [[unlikely]] {
    registry_.interrupts().kernel_unknown_ns +=
        time_ns - std::exchange(cpu->interrupts_unknown_since_ns, 0);
  }
  // Outcomes: the CPU's first record; the expected thread left; another thread
  // left, or records were lost, so that the interval has no known owner.
  if (!cpu->begun()) {
    Begin(*cpu, record, time_ns);
    ThreadState* left = Resolve(prev, time_ns);
    if (left != nullptr) SwitchOut(*left, record.cpu, time_ns, bits);
  } else {
    // In a recording of marked processes, what lies between two dispatches of
    // other processes is outside. After a loss, a fork may be among the lost
    // records, and the interval that child's.
    const bool no_thread_known =
        coverage_.loss_epoch != 0 && registry_.gate().records_marked_only() &&
        cpu->is_outside() && prev != cpu->tid() &&
        registry_.Find(prev) == nullptr && registry_.Find(next) == nullptr;
    const bool confirmed = !cpu->lost() && !no_thread_known &&
                           UnseenSwitches(*cpu, record) == 0 &&
                           Confirm(*cpu, prev);
    if (!confirmed) {
      const bool counted = cpu->lost();
      const bool since_begin = IsUnknownSinceBegin(*cpu);
      Abandon(*cpu, time_ns);
      Attribute(*cpu, record, time_ns, false);
      ThreadState* left = Resolve(prev, time_ns);
      if (left != nullptr && !counted) {
        CpuState* const other = FindCpu(left->dispatch.running_cpu);
        if (other != nullptr && other != cpu && other->thread() == left)
          Contradict(*other);
        ++left->dispatch.unseen_switches;
        if (left->dispatch.running_cpu < 0) {
          // Only the end of this dispatch is known.
          Occupy(*cpu, prev, time_ns, /*inferred=*/true);
          if (since_begin) DoubtBegin(*left);
          EmitDispatch(*cpu, cpu->last_ns, state, false);
        }
      }
      if (no_thread_known) NoteLoss(time_ns);  // may concern any thread
      if (left != nullptr) SwitchOut(*left, record.cpu, time_ns, bits);
    } else {
      Attribute(*cpu, record, time_ns, true);
      EmitDispatch(*cpu, cpu->last_ns, state, false);
      if (cpu->thread() != nullptr) {
        SwitchOut(*cpu->thread(), record.cpu, time_ns, bits);
      }
    }
  }
  EmitCounters(*cpu, record, time_ns);
  Occupy(*cpu, next, time_ns, false,
         (bits & logformat::kSwitchNextAnyCpu) != 0);
}

bool DispatchTracker::IsEnd(std::uint32_t reason, std::uint64_t time_ns) const {
  return reason == static_cast<std::uint32_t>(CountersReason::kEnd) ||
         (reason == static_cast<std::uint32_t>(CountersReason::kSnapshot) &&
          info_.snapshot_ns != 0 && time_ns >= info_.snapshot_ns);
}

void DispatchTracker::OnCounters(const EventRecord& record,
                                 std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  CountersRecord dump;
  if (cpu == nullptr || !Decode(record, dump)) {
    ++malformed_;
    return;
  }
  // The next rotation may be of the same set.
  if (dump.reason == static_cast<std::uint32_t>(CountersReason::kSetBegin) &&
      dumps_.rotates()) {
    EndTurn(*cpu, dumps_);
  }
  auto tid = static_cast<std::int32_t>(dump.running_tid);
  const bool end = IsEnd(dump.reason, time_ns);
  // With an unknown tid, the occupant continues, if it is known.
  bool unknown = dump.running_tid == logformat::kRunningTidUnknown;
  if (unknown) [[unlikely]] {
    // A fault since the last dump shows another thread there.
    for (const StrayFaults& stray : cpu->counters.strays) {
      if (stray.thread == nullptr) continue;
      tid = stray.thread->tid;
      unknown = false;
    }
  }
  if (unknown) NoteHidden(*cpu, record);
  if (unknown && !cpu->known()) {
    if (cpu->hidden()) AttributePart(*cpu, record, time_ns);
    return;
  }
  const bool begin =
      dump.reason == static_cast<std::uint32_t>(CountersReason::kBegin);
  // An interrupt may be open that was not recorded: only a switch ends it.
  const bool after_gap = cpu->lost() || (!cpu->begun() && begun_inside_);
  if (after_gap && interrupts_recorded_ && !begin && !end) return;
  bool continues = false;  // the dispatch goes on after this dump
  bool counted = false;    // it comes after a loss
  bool since_begin = coverage_.range_begin_ns != 0 && !cpu->begun();
  if (end) CloseInterrupts(*cpu, time_ns, /*switches=*/false);
  if (!cpu->begun()) {
    Begin(*cpu, record, time_ns);
  } else if (begin) {
    Rejoin(*cpu, record, time_ns);
  } else {
    continues = UnseenSwitches(*cpu, record) == 0 &&
                (unknown || (!cpu->lost() && Confirm(*cpu, tid)));
    counted = cpu->lost();
    since_begin = IsUnknownSinceBegin(*cpu);
    if (!continues) {
      Abandon(*cpu, time_ns);
    } else if (unknown) {
      BeginUnconfirmed(*cpu);
    }
    Attribute(*cpu, record, time_ns, continues);
    ThreadState* runs = continues || counted ? nullptr : Resolve(tid, time_ns);
    if (runs != nullptr) ++runs->dispatch.unseen_switches;
  }
  EmitCounters(*cpu, record, time_ns);
  if (end) {
    ConfirmOccupant(*cpu);  // nothing contradicts it any more
    if (continues) EmitDispatch(*cpu, cpu->last_ns, 0, true);
    EndCpu(*cpu, time_ns);
  } else if (!continues) {
    const ThreadState* const lost = counted || begin ? cpu->left() : nullptr;
    Occupy(*cpu, tid, time_ns, true);
    if (since_begin && cpu->thread() != nullptr) DoubtBegin(*cpu->thread());
    // Perhaps the dispatch that began before the loss.
    if (cpu->thread() != nullptr && cpu->thread() == lost &&
        !coverage_.paused) {
      --cpu->thread()->dispatch.dispatches;
      --cpu->dispatches;
    }
  }
}

void DispatchTracker::EndCpu(CpuState& cpu, std::uint64_t time_ns) {
  ConfirmOccupant(cpu);
  EndContradiction(cpu, time_ns);
  if (cpu.RunsHere()) {
    cpu.thread()->dispatch.running_cpu = -1;
    unseen_.Leave(*cpu.thread(), time_ns);
  }
  cpu.End();
  if (coverage_.loss_epoch != 0) NoteOutside(cpu, time_ns);
  coverage_.earliest_end_ns = std::min(coverage_.earliest_end_ns, time_ns);
}

void DispatchTracker::OnSwitchIn(const EventRecord& record,
                                 std::uint64_t time_ns) {
  CpuState* cpu = Cpu(record.cpu);
  const auto tids = TidsOf(record);
  if (cpu == nullptr || !tids) {
    ++malformed_;
    return;
  }
  // Without a first dump, or after a loss, the interval has no owner anyway.
  if (!cpu->begun() || cpu->lost()) return;
  const auto [prev, next, computed] = *tids;
  CloseInterrupts(*cpu, time_ns, /*switches=*/true);
  const bool confirmed = Confirm(*cpu, prev);
  if (!confirmed) {
    Abandon(*cpu, time_ns);
    Hide(*cpu, time_ns);
  }
  AttributedInterval attributed = AttributeTime(*cpu, time_ns, confirmed);
  attributed.hidden = !confirmed;
  if (coverage_.paused) {
    AttributeDump(*cpu, record, attributed);
  } else {
    AddUncounted(*cpu, attributed);
  }
  EndParts(*cpu);
  if (confirmed)
    EmitDispatch(*cpu, cpu->last_ns, logformat::kSwitchOther, computed != 0);
  if (attributed.thread != nullptr) {
    if (computed != 0) InferSwitch(*attributed.thread, time_ns);
    SwitchOut(*attributed.thread, record.cpu, time_ns, logformat::kSwitchOther);
  }
  Occupy(*cpu, next, time_ns, computed != 0);
  if (computed != 0 && cpu->thread() != nullptr)
    InferSwitch(*cpu->thread(), time_ns);
}

void DispatchTracker::InferSwitch(ThreadState& thread, std::uint64_t time_ns) {
  thread.dispatch.switch_inferred = true;
  if (observer_ != nullptr) {
    observer_->OnInferredSwitch({thread.index, time_ns, /*split=*/false});
  }
}

void DispatchTracker::OnFault(std::int32_t cpu_number, ThreadState& thread,
                              std::uint64_t time_ns) {
  const bool counted = registry_.Counts(thread);
  if (counted) {
    SeeRunning(thread, time_ns);
    CountUnlessPaused(thread.dispatch.faults);
  }
  CpuState* cpu = Cpu(cpu_number);
  if (cpu == nullptr) return;
  // Its fork was lost. This record shows that it counts; its switch-out may be
  // lost, too.
  if (counted && cpu->is_outside()) IsOccupant(*cpu, thread.tid);
  const bool runs = cpu->thread() != nullptr
                        ? cpu->thread()->tid == thread.tid
                        : cpu->is_outside() && cpu->tid() == thread.tid;
  if (runs && switches_ >= events_) ConfirmOccupant(*cpu);
  if (coverage_.paused) return;
  if (observer_ != nullptr) {
    const FaultHit fault{cpu->cpu, counted ? thread.index : kNoThread, time_ns};
    if (cpu->unconfirmed.any) {
      cpu->unconfirmed.held.emplace_back(fault);
    } else {
      observer_->OnFault(fault);
    }
  }
  if (runs) {
    ++cpu->faults;
  } else if (cpu->open()) {
    AddStrayFaults(*cpu, counted ? &thread : nullptr, 1);
  } else if (counted) {
    // No dump was before it, so that no account has it.
    for (std::size_t i = 0; i < events_; ++i) {
      if (kinds_[i] == CounterKind::kFaults ||
          kinds_[i] == CounterKind::kFaultsOfMode) {
        thread.unseen.AddCount(i, 1);
        if (observer_ != nullptr) {
          observer_->OnUnseen(
              {time_ns, time_ns, static_cast<std::uint32_t>(i), 1});
        }
      }
    }
  }
}

void DispatchTracker::Finish(std::uint64_t end_ns) {
  for (CpuState& cpu : cpus_) {
    if (dumps_.rotates()) EndRounds(cpu, dumps_);
    if (cpu.open()) {
      coverage_.earliest_end_ns =
          std::min(coverage_.earliest_end_ns, cpu.last_ns);
      FinishCut(cpu, end_ns);  // the recorder was killed
    } else if (!cpu.begun() && cpu.lost()) {
      FinishCut(cpu, end_ns);
    }
    if (cpu.interrupts_unknown_since_ns != 0) {
      registry_.interrupts().kernel_unknown_ns +=
          end_ns - std::min(end_ns, cpu.interrupts_unknown_since_ns);
    }
  }
  for (ThreadState& thread : registry_.threads()) {
    if (thread.dispatch.dead) {
      unseen_.SeeDead(thread);
    } else {
      See(thread, end_ns);
    }
    blocked_.Finish(thread, end_ns);
    if (thread.dispatch.waiting && thread.dispatch.runnable_since_ns < end_ns) {
      EndWait(thread, end_ns);
    }
  }
  queues_.Finish();
}

}  // namespace countrace::rmap
