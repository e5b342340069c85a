#include "rmap/tables/bounds/unseen_bounds.h"

#include <algorithm>
#include <numeric>

#include "logformat/perf_event_names.h"
#include "rmap/result/limits.h"
#include "rmap/tables/input/account_sums.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kNone = Bounds::kNone;

template <typename Row>
void Finish(Row& row) {
  for (const auto& [number, bounds] : row.bounds.entries()) {
    static_cast<void>(bounds);
    const auto index = static_cast<std::size_t>(number);
    const auto counts = static_cast<std::size_t>(Number::kCounts);
    if constexpr (requires { row.scaled; }) {
      if (index >= counts && row.scaled.size() > (index - counts) / 3 &&
          row.scaled[(index - counts) / 3]) {
        continue;  // the interval of an estimate
      }
    }
    row.qualities.Add(Quality::kBounded);
  }
  if constexpr (requires { row.quality; }) row.quality = row.qualities.Worst();
}

}  // namespace

template <typename Row>
void UnseenBounds::AddScaled(std::size_t plan, std::uint64_t more,
                             Row& row) const {
  if (plan >= row.scaled.size() || !row.scaled[plan]) return;
  row.qualities.Add(Quality::kScaled);
  Bounds bounds = row.scaled[plan]->Limits();
  if (more == kNone) {
    bounds.hi = kNone;
  } else if (more != 0) {
    // It may have all that is estimated to have no owner.
    const auto unattributed = ScaleAccount(input_, &CpuState::unattributed,
                                           *input_.plans[plan].cpu_event);
    bounds.hi =
        AddBounded(bounds.hi, unattributed ? unattributed->Limits().hi : kNone);
  }
  row.bounds.Set(CountNumber(plan, CountPart::kWhole), row.scaled[plan]->value,
                 bounds);
}

UnseenBounds::UnseenBounds(const TableInput& input)
    : input_(input),
      unseen_(input.in.dispatches.unseen()),
      end_(unseen_.At(input.in.end_ns)),
      everywhere_ns_(end_.hidden_ns + input.in.dispatches.cut_ns()) {
  outside_counts_.assign(kMaxMeasures, 0);
  for (const CpuState& cpu : input.in.dispatches.cpus()) {
    outside_account_ns_ += cpu.outside.ns;
    for (std::size_t i = 0; i < kMaxMeasures; ++i) {
      outside_counts_[i] += cpu.outside.counts[i];
    }
  }
  // Before a loss that was noticed late, threads whose fork was in it seemed to
  // be outside.
  if (input.in.dispatches.cut_ns() != 0 &&
      input.in.registry.gate().records_marked_only()) {
    end_.outside_ns += outside_account_ns_;
  }
  outside_ns_ = end_.outside_ns;
  if (input.in.registry.may_lack_marks()) {
    outside_ns_ = std::max(outside_ns_, outside_account_ns_);
  }
}

std::uint64_t UnseenBounds::LifeNs(const ThreadState& thread) const {
  const std::uint64_t begin_ns =
      thread.forked ? std::max(thread.first_seen_ns, input_.in.begin_ns)
                    : input_.in.begin_ns;
  const std::uint64_t end_ns =
      thread.dispatch.dead ? thread.last_seen_ns : input_.in.end_ns;
  return Less(end_ns, begin_ns);
}

std::uint64_t UnseenBounds::EarlierNs(const ThreadState& thread) const {
  const std::uint64_t begin_ns = input_.in.begin_ns;
  if (!input_.in.dispatches.begun_inside() ||
      (thread.forked && thread.first_seen_ns > begin_ns)) {
    return 0;
  }
  return Less(std::min(thread.blocked.known_from_ns, input_.in.end_ns),
              begin_ns);
}

std::uint64_t UnseenBounds::CapacityNs(const ProcessState& process) const {
  // Threads that no record shows are forked by one that was there.
  const bool forked =
      std::all_of(process.threads.begin(), process.threads.end(),
                  [](const ThreadState* thread) { return thread->forked; });
  const std::uint64_t begin_ns =
      forked ? std::max(process.first_seen_ns, input_.in.begin_ns)
             : input_.in.begin_ns;
  return Less(input_.in.end_ns, begin_ns) * input_.in.dispatches.cpus().size();
}

Bounds UnseenBounds::CappedRuntime(std::size_t plan, Bounds bounds,
                                   std::uint64_t value,
                                   std::uint64_t lives_ns) const {
  // What a dump at the edge of a range adds may be from before it.
  if (input_.in.of_range ||
      input_.plans[plan].name != logformat::kExecRuntimeEvent) {
    return bounds;
  }
  return Capped(bounds, value, AddBounded(lives_ns, lives_ns / 2000 + 1));
}

std::uint64_t UnseenBounds::MostUnseen() const {
  if (everywhere_ns_ + end_.outside_ns != 0) return kNone;
  return unseen_.CountSince(0, unseen_.dispatches());
}

void UnseenBounds::SetCounts(const ThreadState& thread, ThreadRow& row) const {
  const std::uint64_t outside_ns = thread.unseen.outside_ns;
  const std::uint64_t life_ns = LifeNs(thread);
  for (std::size_t i = 0; i < input_.plans.size(); ++i) {
    if (!input_.plans[i].cpu_event || !row.counts[i]) continue;
    const std::size_t event = *input_.plans[i].cpu_event;
    std::uint64_t more = thread.unseen.Count(event);
    if (outside_ns != 0) more = AddBounded(more, outside_counts_[event]);
    if (i < row.scaled.size() && row.scaled[i]) {
      AddScaled(i, outside_ns != 0 ? kNone : more, row);
      continue;
    }
    // After exec() the counts of one interval belong to two threads.
    Bounds bounds = thread.dispatch.split_by_exec
                        ? Bounds()
                        : Around(*row.counts[i], 0, more);
    if (IsOnCpuTime(input_.plans[i].name)) {
      bounds = Capped(bounds, *row.counts[i], life_ns);
    }
    bounds = CappedRuntime(i, bounds, *row.counts[i], life_ns);
    row.bounds.Set(CountNumber(i, CountPart::kWhole), *row.counts[i], bounds);
  }
}

void UnseenBounds::OfThread(const ThreadState& thread, ThreadRow& row) const {
  const UnseenState& unseen = thread.unseen;
  if (thread.dispatch.switch_inferred || thread.dispatch.split_by_exec) {
    row.qualities.Add(Quality::kInferred);
  }
  const std::uint64_t outside_ns = unseen.outside_ns;
  const std::uint64_t on_cpu_ns =
      unseen.lost_ns + unseen.hidden_ns + outside_ns;
  const std::uint64_t life_ns = LifeNs(thread);
  const std::uint64_t unknown_ns =
      unseen.unknown_ns + unseen.late_ns + outside_ns + EarlierNs(thread);
  // It runs, waits or is blocked, one at a time.
  const std::uint64_t on = row.on_cpu_ns.value_or(0);
  const std::uint64_t wait = row.wait_ns.value_or(0);
  const std::uint64_t blocked = row.blocked_ns.value_or(0);
  const Bounds waiting = Around(wait, unknown_ns, unknown_ns);
  const Bounds sleeping = Around(blocked, unknown_ns, unknown_ns);
  if (!row.on_cpu_ns) {
    if (input_.has_kernel) row.bounds.Set(Number::kOnCpu, 0, {0, life_ns});
  } else {
    row.bounds.Set(Number::kOnCpu, on,
                   WithRoom(Around(on, 0, on_cpu_ns), on,
                            Less(life_ns, waiting.lo + sleeping.lo)));
  }
  std::uint64_t dispatches = AddBounded(unseen.Count(unseen_.dispatches()),
                                        thread.dispatch.unseen_switches);
  if (outside_ns != 0 || (!row.on_cpu_ns && input_.has_kernel)) {
    dispatches = kNone;
  }
  row.bounds.Set(
      Number::kDispatches, row.dispatches,
      Around(row.dispatches, thread.dispatch.begin_unsure ? 1 : 0, dispatches));
  const std::uint64_t moved = thread.dispatch.last_cpu_unsure ? 1 : 0;
  row.bounds.Set(Number::kMigrations, row.migrations,
                 Around(row.migrations, moved, AddBounded(dispatches, moved)));
  if (row.wait_ns) {
    row.bounds.Set(Number::kWait, wait,
                   WithRoom(waiting, wait, Less(life_ns, on + sleeping.lo)));
  }
  if (row.throttled_ns) {
    // Any unknown time of it, also if it counts as waiting for another reason.
    const Bounds all =
        row.bounds.Of(Number::kWait).value_or(Bounds{wait, wait});
    Bounds some = Around(*row.throttled_ns, unknown_ns, unknown_ns);
    some.hi = std::min(some.hi, std::max(all.hi, *row.throttled_ns));
    row.bounds.Set(Number::kThrottled, *row.throttled_ns, some);
  }
  if (row.blocked_ns) {
    row.bounds.Set(Number::kBlocked, blocked,
                   WithRoom(sleeping, blocked, Less(life_ns, on + waiting.lo)));
  }
  SetCounts(thread, row);
  Finish(row);
}

UnseenBounds::OfAll UnseenBounds::AllOf(const ProcessState& process) const {
  OfAll all;
  all.counts.assign(unseen_.dispatches() + 1, 0);
  for (const ThreadState* thread : process.threads) {
    const UnseenState& unseen = thread->unseen;
    all.hidden_ns += unseen.hidden_ns;
    all.begun_before += thread->dispatch.begin_unsure ? 1 : 0;
    const std::uint64_t life_ns = LifeNs(*thread);
    all.lives_ns += life_ns;
    all.longest_ns = std::max(all.longest_ns, life_ns);
    all.on_cpu_ns +=
        std::min(unseen.lost_ns + unseen.hidden_ns + unseen.outside_ns,
                 Less(life_ns, thread->dispatch.on_cpu_ns));
    all.late_ns += unseen.late_ns;
    all.unbooked_ns += thread->dispatch.unbooked_ns;
    all.switches += thread->dispatch.switches_out;
    all.faults += thread->dispatch.faults;
    for (std::size_t i = 0; i < all.counts.size(); ++i) {
      all.counts[i] = AddBounded(all.counts[i], unseen.Count(i));
      if (unseen.outside_ns != 0) {
        all.counts[i] =
            AddBounded(all.counts[i],
                       i < unseen_.dispatches() ? outside_counts_[i] : kNone);
      }
    }
  }
  // Each interval was one thread's at a time.
  all.hidden_ns =
      std::min(all.hidden_ns, end_.hidden_ns + unseen_.unended_ns());
  all.hidden_ns += input_.in.dispatches.cut_ns();
  if (!input_.has_kernel) all.lives_ns = kNone;
  if (process.settled || unseen_.none()) return all;
  // Each unknown interval was one thread's at a time.
  all.on_cpu_ns = std::min(
      all.on_cpu_ns, end_.lost_cpu_ns + end_.hidden_ns + outside_ns_ +
                         unseen_.unended_ns() + input_.in.dispatches.cut_ns());
  all.records = unseen_.CountSince(process.records_known, unseen_.dispatches());
  return all;
}

std::uint64_t UnseenBounds::PerhapsEnded(const ProcessState& process) const {
  if (!input_.in.of_range || unseen_.none()) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(process.threads.begin(), process.threads.end(),
                    [&](const ThreadState* thread) {
                      return !thread->ended_before &&
                             thread->last_seen_ns <= input_.in.begin_ns;
                    }));
}

const UnseenBounds::OfAll& UnseenBounds::Known(
    const ProcessState& process) const {
  static const OfAll none;
  const auto found = processes_.find(&process);
  return found == processes_.end() ? none : found->second;
}

void UnseenBounds::OfProcess(const ProcessState& process, ProcessRow& row) {
  OfAll all = AllOf(process);
  for (const ThreadState* thread : process.threads) {
    if (thread->dispatch.switch_inferred) {
      row.qualities.Add(Quality::kInferred);
    }
  }
  const bool absent = std::any_of(
      process.threads.begin(), process.threads.end(),
      [&](const ThreadState* thread) { return thread->IsOnNoCpu(); });
  all.absent = absent && input_.has_kernel;
  const std::uint64_t most_ns = CapacityNs(process);
  if (input_.has_kernel) {
    const std::uint64_t on_cpu_ns = row.on_cpu_ns.value_or(0);
    const Bounds bounds =
        Capped(Around(on_cpu_ns, 0, absent ? kNone : all.on_cpu_ns), on_cpu_ns,
               most_ns);
    row.bounds.Set(Number::kOnCpu, on_cpu_ns, bounds);
    all.most_on_cpu_ns = bounds.hi;
    const std::uint64_t dispatches =
        absent ? kNone : all.counts[unseen_.dispatches()];
    row.bounds.Set(Number::kDispatches, row.dispatches,
                   Around(row.dispatches, all.begun_before, dispatches));
    // One that never ran has a fork record alone.
    row.bounds.Set(Number::kThreads, row.threads,
                   Around(row.threads, PerhapsEnded(process), all.records));
  }
  all.most_counts.assign(input_.plans.size(), kNone);
  for (std::size_t i = 0; i < input_.plans.size(); ++i) {
    if (!input_.plans[i].cpu_event || !row.counts[i]) continue;
    const std::uint64_t more =
        absent ? kNone : all.counts[*input_.plans[i].cpu_event];
    if (i < row.scaled.size() && row.scaled[i]) {
      // These may be of other accounts than the unattributed one.
      AddScaled(i, more != 0 && end_.outside_ns != 0 ? kNone : more, row);
      continue;
    }
    Bounds bounds = Around(*row.counts[i], 0, more);
    if (IsOnCpuTime(input_.plans[i].name)) {
      bounds = Capped(bounds, *row.counts[i], most_ns);
    }
    bounds = CappedRuntime(i, bounds, *row.counts[i],
                           std::min(most_ns, all.lives_ns));
    row.bounds.Set(CountNumber(i, CountPart::kWhole), *row.counts[i], bounds);
    all.most_counts[i] = bounds.hi;
  }
  Finish(row);
  switches_ += all.switches;
  faults_ += all.faults;
  processes_[&process] = std::move(all);
}

void UnseenBounds::OfCpu(const CpuState& cpu, CpuRow& row) const {
  const std::uint64_t unknown_ns = row.unattributed_ns;
  const bool marked = input_.in.registry.gate().records_marked_only();
  const bool separates =
      marked || input_.in.registry.gate().separates_processes();
  const auto set = [&](Number number, std::uint64_t value, std::uint64_t fewer,
                       std::uint64_t more) {
    row.bounds.Set(number, value,
                   Capped(Around(value, fewer, more), value, row.wall_ns));
  };
  using Occupant = CpuState::Occupant;
  const auto unended_ns = [&](Occupant occupant) {
    return cpu.unended_ns[static_cast<std::size_t>(occupant)];
  };
  set(Number::kBusy, row.busy_ns, 0,
      unknown_ns + outside_ns_ + unended_ns(Occupant::kThread));
  set(Number::kIdle, row.idle_ns, 0,
      (marked ? 0 : unknown_ns) + unended_ns(Occupant::kIdle));
  set(Number::kInterrupts, row.interrupts_ns,
      std::accumulate(cpu.unended_ns.begin(), cpu.unended_ns.end(),
                      std::uint64_t{0}),
      input_.in.interrupts ? unknown_ns : 0);
  set(Number::kOutside, row.outside_ns, outside_ns_,
      (separates ? unknown_ns : 0) + unended_ns(Occupant::kOutside));
  if (unknown_ns != 0 || outside_ns_ != 0 || !cpu.ended()) {
    // Each that is missing had a record, unless the kernel did not show it.
    const std::uint64_t more =
        outside_ns_ != 0 || everywhere_ns_ != 0 || !cpu.ended()
            ? kNone
            : cpu.all_lost_records;
    row.bounds.Set(Number::kDispatches, row.dispatches,
                   Around(row.dispatches, input_.in.of_range ? 1 : 0, more));
  }
  for (std::size_t i = 0; i < row.scaled.size(); ++i) {
    AddScaled(i, 0, row);
    if (!input_.plans[i].cpu_event || !row.counts[i] || row.scaled[i]) continue;
    row.bounds.Set(CountNumber(i, CountPart::kWhole), *row.counts[i],
                   Around(*row.counts[i], 0,
                          cpu.counters.cut_counts[*input_.plans[i].cpu_event]));
  }
  Finish(row);
}

void UnseenBounds::OfWaker(const BlockedOwner& owner, WakerRow& row) const {
  std::uint64_t unknown_ns = 0, lives_ns = 0;
  const auto add = [&](const ThreadState& thread) {
    unknown_ns = AddBounded(
        unknown_ns, thread.unseen.unknown_ns + thread.unseen.outside_ns);
    if (row.path.empty())
      unknown_ns = AddBounded(unknown_ns, EarlierNs(thread));
  };
  if (owner.thread != nullptr) {
    add(*owner.thread);
    lives_ns = LifeNs(*owner.thread);
  } else {
    for (const ProcessState* process : owner.processes) {
      lives_ns = AddBounded(lives_ns, Known(*process).lives_ns);
      for (const ThreadState* thread : process->threads) add(*thread);
    }
  }
  // An interval that may belong to another row may be any row's.
  std::uint64_t times = owner.unsure_times, ns = owner.unsure_ns;
  // Losses that were noticed late: every interval may be another row's.
  if (input_.in.dispatches.cut_ns() != 0) times = ns = unknown_ns = kNone;
  const std::uint64_t unseen = unknown_ns == 0 ? 0 : MostUnseen();
  const Bounds blocked =
      Capped(Around(row.blocked_ns, ns, AddBounded(ns, unknown_ns)),
             row.blocked_ns, lives_ns);
  row.bounds.Set(Number::kTimes, row.times,
                 Around(row.times, times, AddBounded(times, unseen)));
  row.bounds.Set(Number::kBlocked, row.blocked_ns, blocked);
  if (blocked.lo != row.blocked_ns || blocked.hi != row.blocked_ns) {
    row.bounds.Set(Number::kLongest, row.longest_ns, {0, blocked.hi});
  }
  Finish(row);
}

}  // namespace countrace::rmap
