#include "rmap/tables/unseen_bounds.h"

#include <algorithm>
#include <numeric>

#include "rmap/tables/account_sums.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kNone = Bounds::kNone;

// A thread of which nothing was seen: its fork and its first switch were lost.
constexpr std::uint64_t kLeastForThread = 2;

std::uint64_t Less(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

Bounds Around(std::uint64_t value, std::uint64_t less, std::uint64_t more) {
  return {Less(value, less), AddBounded(value, more)};
}

Bounds AtMost(Bounds bounds, std::uint64_t hi) {
  return {std::min(bounds.lo, hi), std::min(bounds.hi, hi)};
}

// No more than `most`, but what was counted.
Bounds Capped(Bounds bounds, std::uint64_t value, std::uint64_t most) {
  bounds.hi = std::max(value, std::min(bounds.hi, most));
  return bounds;
}

// The same. A time for which the others leave no room is not sure: something
// was lost without a word.
Bounds WithRoom(Bounds bounds, std::uint64_t value, std::uint64_t most) {
  bounds = Capped(bounds, value, most);
  bounds.lo = std::min(bounds.lo, most);
  return bounds;
}

// whole - part.
Bounds Rest(Bounds whole, Bounds part) {
  return {Less(whole.lo, part.hi),
          whole.hi == kNone ? kNone : Less(whole.hi, part.lo)};
}

// What was counted, at least.
Bounds IntervalOf(const ScaledCount& scaled) {
  const auto interval = scaled.Interval95();
  if (!interval) return {scaled.counted, kNone};
  return {interval->lo, interval->hi};
}

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
  Bounds bounds = IntervalOf(*row.scaled[plan]);
  if (more == kNone) {
    bounds.hi = kNone;
  } else if (more != 0) {
    // It may have all that is estimated to have no owner.
    const auto unattributed = ScaleAccount(input_, &CpuState::unattributed,
                                           *input_.plans[plan].cpu_event);
    bounds.hi = AddBounded(bounds.hi,
                           unattributed ? IntervalOf(*unattributed).hi : kNone);
  }
  row.bounds.Set(CountNumber(plan, CountPart::kWhole), row.scaled[plan]->value,
                 bounds);
}

UnseenBounds::UnseenBounds(const TableInput& input)
    : input_(input),
      unseen_(input.in.dispatches.unseen()),
      end_(unseen_.At(input.in.end_ns)),
      everywhere_ns_(end_.hidden_ns + input.in.dispatches.cut_ns()),
      outside_ns_(end_.outside_ns) {
  stray_counts_.assign(unseen_.dispatches() + 1, 0);
  for (const ThreadState& thread : input.in.registry.threads()) {
    if (!thread.process_unknown) continue;
    const UnseenState& unseen = thread.unseen;
    strays_ns_ += thread.dispatch.on_cpu_ns + unseen.lost_ns + unseen.hidden_ns;
    for (std::size_t i = 0; i < stray_counts_.size(); ++i) {
      const std::uint64_t count = i < unseen_.dispatches()
                                      ? thread.kernel.counts[i]
                                      : thread.dispatch.dispatches;
      stray_counts_[i] =
          AddBounded(stray_counts_[i], AddBounded(count, unseen.Count(i)));
    }
  }
  outside_counts_.assign(kMaxMeasures, 0);
  for (const CpuState& cpu : input.in.dispatches.cpus()) {
    outside_account_ns_ += cpu.outside.ns;
    for (std::size_t i = 0; i < kMaxMeasures; ++i) {
      outside_counts_[i] += cpu.outside.counts[i];
    }
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

void UnseenBounds::OfThread(const ThreadState& thread, ThreadRow& row) const {
  const UnseenState& unseen = thread.unseen;
  if (thread.dispatch.switch_inferred || thread.dispatch.split_by_exec) {
    row.qualities.Add(Quality::kInferred);
  }
  const std::uint64_t outside_ns = unseen.outside_ns;
  const std::uint64_t on_cpu_ns =
      unseen.lost_ns + unseen.hidden_ns + outside_ns;
  const std::uint64_t life_ns = LifeNs(thread);
  const std::uint64_t unknown_ns = unseen.unknown_ns + outside_ns;
  // It runs, waits or is blocked, one at a time.
  const std::uint64_t on = row.on_cpu_ns.value_or(0);
  const std::uint64_t wait = row.wait_ns.value_or(0);
  const std::uint64_t blocked = row.blocked_ns.value_or(0);
  const std::uint64_t least_wait = Less(wait, unseen.wait_ns + unseen.late_ns);
  const std::uint64_t least_blocked =
      Less(blocked, unseen.blocked_ns + unseen.late_ns);
  if (!row.on_cpu_ns) {
    if (input_.has_kernel) row.bounds.Set(Number::kOnCpu, 0, {0, life_ns});
  } else {
    row.bounds.Set(Number::kOnCpu, on,
                   WithRoom(Around(on, 0, on_cpu_ns), on,
                            Less(life_ns, least_wait + least_blocked)));
  }
  std::uint64_t dispatches = AddBounded(unseen.Count(unseen_.dispatches()),
                                        thread.dispatch.unseen_switches);
  if (outside_ns != 0 || (!row.on_cpu_ns && input_.has_kernel)) {
    dispatches = kNone;
  }
  row.bounds.Set(Number::kDispatches, row.dispatches,
                 Around(row.dispatches, 0, dispatches));
  row.bounds.Set(Number::kMigrations, row.migrations,
                 Around(row.migrations, 0, dispatches));
  if (row.wait_ns) {
    const std::uint64_t more =
        Less(unknown_ns, unseen.wait_ns) + unseen.late_ns;
    row.bounds.Set(Number::kWait, wait,
                   WithRoom({least_wait, wait + more}, wait,
                            Less(life_ns, on + least_blocked)));
  }
  if (row.blocked_ns) {
    const std::uint64_t more =
        Less(unknown_ns, unseen.blocked_ns) + unseen.late_ns;
    row.bounds.Set(Number::kBlocked, blocked,
                   WithRoom({least_blocked, blocked + more}, blocked,
                            Less(life_ns, on + least_wait)));
  }
  for (std::size_t i = 0; i < input_.plans.size(); ++i) {
    if (!input_.plans[i].cpu_event || !row.counts[i]) continue;
    const std::size_t event = *input_.plans[i].cpu_event;
    std::uint64_t more = unseen.Count(event);
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
    row.bounds.Set(CountNumber(i, CountPart::kWhole), *row.counts[i], bounds);
  }
  Finish(row);
}

UnseenBounds::OfAll UnseenBounds::AllOf(const ProcessState& process) const {
  OfAll all;
  all.counts.assign(unseen_.dispatches() + 1, 0);
  for (const ThreadState* thread : process.threads) {
    const UnseenState& unseen = thread->unseen;
    all.hidden_ns += unseen.hidden_ns;
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
  all.cpu_ns = end_.lost_cpu_ns - process.lost_at_ns + end_.hidden_ns -
               process.hidden_at_ns;
  // Without what later records showed to be known threads'.
  const std::uint64_t outside_ns =
      std::min(end_.outside_ns - process.outside_at_ns, outside_account_ns_);
  all.cpu_ns += outside_ns + unseen_.unended_ns();
  all.records = unseen_.CountSince(process.counts_known, unseen_.dispatches());
  // Where the threads of others are outside, its fork alone.
  all.more_threads = all.records >= (outside_ns != 0 ? 1 : kLeastForThread);
  if (all.records != 0) {
    all.lives_ns = kNone;
    all.longest_ns = Less(input_.in.end_ns, input_.in.begin_ns);
  }
  // Its fork is lost.
  const bool strays = all.records != 0;
  if (strays) all.hidden_ns = everywhere_ns_;
  if (!all.more_threads) {
    for (std::size_t i = 0; strays && i < all.counts.size(); ++i) {
      all.counts[i] = AddBounded(all.counts[i], stray_counts_[i]);
    }
    if (strays) all.on_cpu_ns += strays_ns_;
    return all;
  }
  // Each unknown interval was one thread's at a time.
  all.on_cpu_ns = all.cpu_ns + strays_ns_;
  for (std::size_t i = 0; i < all.counts.size(); ++i) {
    std::uint64_t sum = unseen_.CountSince(process.counts_known, i);
    if (outside_ns != 0) {
      sum = AddBounded(sum,
                       i < unseen_.dispatches() ? outside_counts_[i] : kNone);
    }
    // Counts of known threads may be doubtful for other reasons.
    all.counts[i] = AddBounded(std::max(all.counts[i], sum), stray_counts_[i]);
  }
  return all;
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
                   Around(row.dispatches, 0, dispatches));
    row.bounds.Set(Number::kThreads, row.threads,
                   Around(row.threads, 0, all.more_threads ? all.records : 0));
  }
  all.most_counts.assign(input_.plans.size(), kNone);
  for (std::size_t i = 0; i < input_.plans.size(); ++i) {
    if (!input_.plans[i].cpu_event || !row.counts[i]) continue;
    const std::uint64_t more =
        absent ? kNone : all.counts[*input_.plans[i].cpu_event];
    if (i < row.scaled.size() && row.scaled[i]) {
      // These may be of other accounts than the unattributed one.
      const bool others =
          end_.outside_ns != process.outside_at_ns || strays_ns_ != 0;
      AddScaled(i, more != 0 && others ? kNone : more, row);
      continue;
    }
    Bounds bounds = Around(*row.counts[i], 0, more);
    if (IsOnCpuTime(input_.plans[i].name)) {
      bounds = Capped(bounds, *row.counts[i], most_ns);
    }
    row.bounds.Set(CountNumber(i, CountPart::kWhole), *row.counts[i], bounds);
    all.most_counts[i] = bounds.hi;
  }
  Finish(row);
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
  if (unknown_ns != 0 || outside_ns_ != 0 || !cpu.ended) {
    row.bounds.Set(Number::kDispatches, row.dispatches,
                   {row.dispatches, kNone});
  }
  for (std::size_t i = 0; i < row.scaled.size(); ++i) {
    AddScaled(i, 0, row);
  }
  Finish(row);
}

void UnseenBounds::OfWaker(const ProcessState& process,
                           const WakerUnseen& unsure, const WakerUnseen& all,
                           WakerRow& row) const {
  // Losses that were noticed late: every interval may be another row's.
  const bool late = input_.in.dispatches.cut_ns() != 0;
  const WakerUnseen own =
      late ? WakerUnseen{row.times, row.blocked_ns, 0} : unsure;
  std::uint64_t unknown_ns = Known(process).more_threads || late ? kNone : 0;
  for (const ThreadState* thread : process.threads) {
    unknown_ns = AddBounded(
        unknown_ns, thread->unseen.unknown_ns + thread->unseen.outside_ns);
  }
  // Unsure intervals of other rows may be this one's.
  const std::uint64_t times =
      unknown_ns != 0 ? kNone : all.times - unsure.times;
  const Bounds blocked = Around(row.blocked_ns, own.ns,
                                AddBounded(all.ns - unsure.ns, unknown_ns));
  row.bounds.Set(Number::kTimes, row.times,
                 Around(row.times, own.times, times));
  row.bounds.Set(Number::kBlocked, row.blocked_ns, blocked);
  const Bounds longest{std::min(own.longest_sure_ns, row.longest_ns),
                       blocked.hi};
  if (blocked.lo != row.blocked_ns || blocked.hi != row.blocked_ns) {
    row.bounds.Set(Number::kLongest, row.longest_ns, longest);
  }
  Finish(row);
}

void UnseenBounds::OfSegment(const ProcessState& process,
                             const SegmentUnseen& unseen,
                             SegmentRow& row) const {
  const OfAll& all = Known(process);
  const UnseenSums& own = unseen.own;
  const UnseenSums::Less& less = own.less;
  const bool interrupts = &process == &input_.in.registry.interrupts();
  const std::uint64_t hidden_ns = interrupts ? everywhere_ns_ : all.hidden_ns;
  // Hook records of its process were lost: calls are missing, and others may
  // be in the wrong path.
  const bool hooks = (process.hooks_lost || input_.in.session_loss) &&
                     (!unseen.in_kernel || unseen.path);
  const std::uint64_t hooks_ns =
      !hooks ? 0
      : input_.in.session_loss
          ? kNone
          : process.hook_losses *
                Less(input_.in.end_ns, process.hooks_lost_since_ns);
  // What its paths had before is known of a single thread: how much others had
  // added by then depends on the order of reading.
  const CertainSums certain =
      process.threads.size() == 1 ? unseen.certain : CertainSums();
  // Calls of kernel segments that were not recorded.
  const bool kernel =
      unseen.in_kernel && (process.kernel_unknown_ns != 0 || all.more_threads);
  const std::uint64_t kernel_ns = !kernel ? 0
                                  : all.more_threads
                                      ? kNone
                                      : process.kernel_unknown_ns;
  const bool doubtful =
      own.on_cpu_ns + own.unknown_ns + hidden_ns != 0 || kernel;

  // --- calls and wall time ---------------------------------------------------
  const std::uint64_t records = interrupts ? (kernel ? kNone : 0) : all.records;
  Bounds calls =
      Around(row.calls, unseen.path ? less.calls : 0, kernel ? records : 0);
  if (hooks) {
    calls = unseen.path
                ? Bounds{certain.calls, kNone}
                : Around(row.calls, 0,
                         input_.in.session_loss ? kNone
                                                : process.hook_records_lost);
  }
  row.bounds.Set(Number::kCalls, row.calls, calls);
  const std::uint64_t wall_ns = AddBounded(kernel_ns, own.wall_ns);
  // Other kernel segments than those recorded.
  const std::uint64_t late_ns = input_.in.kernel_dumps ? all.late_ns : 0;
  Bounds wall =
      Around(row.wall.incl, less.wall_ns + (kernel ? late_ns : 0), wall_ns);
  Bounds wall_excl =
      Around(row.wall.excl, less.wall_ns + own.kernel_ns + late_ns,
             AddBounded(wall_ns, AddBounded(unseen.children.wall_ns, late_ns)));
  if (hooks) {
    wall = {std::min(wall.lo, certain.wall_ns), AddBounded(wall.hi, hooks_ns)};
    wall_excl = {0, AddBounded(wall_excl.hi, hooks_ns)};
  }
  if (!interrupts) {
    wall = Capped(wall, row.wall.incl, all.lives_ns);
    wall_excl = Capped(wall_excl, row.wall.excl, all.lives_ns);
  }
  row.bounds.Set(Number::kWallIncl, row.wall.incl, wall);
  row.bounds.Set(Number::kWallExcl, row.wall.excl, wall_excl);
  if (row.bounds.Of(Number::kCalls) || row.bounds.Of(Number::kWallIncl)) {
    for (Number number = Number::kWallMean; number <= Number::kWallP99;
         number = static_cast<Number>(static_cast<int>(number) + 1)) {
      row.bounds.Set(number, 0,
                     {0, interrupts ? Less(input_.in.end_ns, input_.in.begin_ns)
                                    : all.longest_ns});
    }
  }
  const bool calls_exact = row.bounds.empty();

  // --- on-CPU, off-CPU, waiting, blocked time --------------------------------
  std::uint64_t most_ns = all.most_on_cpu_ns.value_or(kNone);
  if (interrupts) most_ns = kNone;
  Bounds on, on_excl;
  if (row.on_cpu) {
    const std::uint64_t unseen_ns = kernel && all.more_threads ? all.cpu_ns : 0;
    const std::uint64_t more = own.on_cpu_ns + hidden_ns +
                               (kernel ? process.kernel_unknown_ns : 0) +
                               unseen_ns;
    const std::uint64_t fewer =
        less.on_cpu_ns + all.unbooked_ns + input_.in.dispatches.cut_ns();
    on = Around(row.on_cpu->incl, fewer, AddBounded(more, hooks_ns));
    on_excl = Around(
        row.on_cpu->excl, fewer + own.kernel_ns + unseen.uncovered_ns,
        AddBounded(AddBounded(more, unseen.children.on_cpu_ns), hooks_ns));
    if (hooks) {
      on.lo = std::min(on.lo, certain.on_cpu_ns);
      on_excl.lo = 0;
    }
    // At most its wall time, and the process's on-CPU time.
    const std::uint64_t cap = std::max(row.on_cpu->incl, most_ns);
    on = AtMost(on, std::min(wall.hi, cap));
    on_excl = AtMost(on_excl, std::min(wall_excl.hi, cap));
    row.bounds.Set(Number::kOnCpuIncl, row.on_cpu->incl, on);
    row.bounds.Set(Number::kOnCpuExcl, row.on_cpu->excl, on_excl);
    row.bounds.Set(Number::kOffCpuIncl, row.off_cpu->incl, Rest(wall, on));
    row.bounds.Set(Number::kOffCpuExcl, row.off_cpu->excl,
                   Rest(wall_excl, on_excl));
  }
  // It waits or is blocked in the rest of the time, one at a time.
  const auto off_cpu = [&](const std::optional<InclusiveExclusive>& pair,
                           std::uint64_t fewer, std::uint64_t child) {
    std::pair<Bounds, Bounds> bounds;
    if (!pair) return bounds;
    std::uint64_t more = AddBounded(own.unknown_ns + hidden_ns, kernel_ns);
    more = AddBounded(more, hooks_ns);
    const bool any = hooks || process.hooks_lost;
    bounds.first = Around(pair->incl, any ? kNone : fewer + hidden_ns, more);
    bounds.second =
        Around(pair->excl, any ? kNone : fewer + own.kernel_ns + hidden_ns,
               AddBounded(more, child));
    return bounds;
  };
  const auto wait = off_cpu(row.wait, less.wait_ns, unseen.children.wait_ns);
  const auto blocked =
      off_cpu(row.blocked, less.blocked_ns, unseen.children.blocked_ns);
  const auto set_off_cpu = [&](const std::optional<InclusiveExclusive>& pair,
                               Number incl, Number excl,
                               const std::pair<Bounds, Bounds>& bounds,
                               const std::pair<Bounds, Bounds>& other) {
    if (!pair) return;
    row.bounds.Set(incl, pair->incl,
                   WithRoom(bounds.first, pair->incl,
                            Rest(Rest(wall, on), other.first).hi));
    row.bounds.Set(excl, pair->excl,
                   WithRoom(bounds.second, pair->excl,
                            Rest(Rest(wall_excl, on_excl), other.second).hi));
  };
  set_off_cpu(row.wait, Number::kWaitIncl, Number::kWaitExcl, wait,
              row.blocked ? blocked : std::pair<Bounds, Bounds>());
  set_off_cpu(row.blocked, Number::kBlockedIncl, Number::kBlockedExcl, blocked,
              row.wait ? wait : std::pair<Bounds, Bounds>());
  const bool times_exact = row.bounds.empty();

  // --- counts ----------------------------------------------------------------
  for (std::size_t i = 0; i < input_.plans.size(); ++i) {
    std::optional<SegmentCount>& count = row.counts[i];
    if (!count) continue;
    const Number incl = CountNumber(i, CountPart::kIncl);
    const Number excl = CountNumber(i, CountPart::kExcl);
    const auto by_records = [&](std::uint64_t fewer, std::uint64_t child,
                                std::uint64_t most) {
      const std::uint64_t more = doubtful ? all.records : 0;
      Bounds whole = Around(count->incl, fewer, more);
      Bounds part = Around(count->excl, own.kernel_ns != 0 ? kNone : fewer,
                           AddBounded(more, child));
      if (kernel) whole.hi = part.hi = AddBounded(most, all.records);
      if (kernel && interrupts) whole.hi = part.hi = kNone;
      if (hooks) whole = part = {0, AddBounded(most, all.records)};
      if (late_ns != 0) {
        if (kernel) whole.lo = 0;
        part.lo = 0;
      }
      row.bounds.Set(incl, count->incl, whole);
      row.bounds.Set(excl, count->excl, part);
    };
    switch (input_.plans[i].source) {
      case SegmentSource::kNone:
        break;
      case SegmentSource::kOnCpuTime:
        row.bounds.Set(incl, count->incl, on);
        row.bounds.Set(excl, count->excl, on_excl);
        break;
      case SegmentSource::kSwitches:
        by_records(less.switches, unseen.children.switches, all.switches);
        break;
      case SegmentSource::kFaults:
        by_records(less.faults, unseen.children.faults, all.faults);
        break;
      case SegmentSource::kThreadDumps:
        if (count->quality < Quality::kBounded && !hooks) break;
        row.bounds.Set(incl, count->incl,
                       {hooks && unseen.path ? 0 : count->incl, kNone});
        row.bounds.Set(excl, count->excl, Bounds());
        break;
      case SegmentSource::kKernelDumps: {
        const bool lacks = count->quality >= Quality::kBounded;
        if (!lacks && !doubtful && !hooks && own.kernel_ns == 0) break;
        const std::uint64_t most = interrupts || i >= all.most_counts.size()
                                       ? kNone
                                       : all.most_counts[i];
        const bool whole = less.calls + less.wall_ns == 0 && !hooks;
        row.bounds.Set(incl, count->incl,
                       {whole ? count->incl : 0, std::max(most, count->incl)});
        row.bounds.Set(excl, count->excl, {0, std::max(most, count->incl)});
        break;
      }
    }
    if (count->scaled) {
      const bool missing = row.bounds.Of(incl).has_value();
      Bounds whole = IntervalOf(InclusiveOf(*count));
      Bounds part = IntervalOf(ExclusiveOf(*count));
      if (missing) whole.hi = part.hi = kNone;
      row.bounds.Set(incl, count->incl, whole);
      row.bounds.Set(excl, count->excl, part);
    }
    const bool exact = !row.bounds.Of(incl) && !row.bounds.Of(excl);
    if (!count->scaled) {
      // perf multiplexed its counter: an estimate whose error is not known.
      const Quality least = count->quality == Quality::kScaled
                                ? Quality::kScaled
                                : Quality::kExact;
      row.qualities.Add(least);
      count->quality = exact ? least : Quality::kBounded;
    }
    row.qualities.Add(count->quality);
  }
  row.quality = calls_exact ? Quality::kExact : Quality::kBounded;
  row.on_cpu_quality = times_exact ? Quality::kExact : Quality::kBounded;
  row.qualities.Add(row.quality);
  if (row.on_cpu) row.qualities.Add(row.on_cpu_quality);
}

}  // namespace countrace::rmap
