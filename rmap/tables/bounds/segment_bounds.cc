// The part of UnseenBounds for segments and call paths: what a row's calls may
// lack, and what may belong to other rows.
#include <algorithm>
#include <utility>

#include "rmap/tables/bounds/unseen_bounds.h"
#include "rmap/tables/input/interval_arithmetic.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kNone = Bounds::kNone;

}  // namespace

void UnseenBounds::OfSegment(const ProcessState& process,
                             const SegmentUnseen& unseen,
                             const DurationStatistics& durations,
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
  const bool kernel = unseen.in_kernel && process.kernel_unknown_ns != 0;
  const std::uint64_t kernel_ns = kernel ? process.kernel_unknown_ns : 0;
  // Switches and faults that its own CPU time and waiting time have, too.
  const bool absent = all.absent && !interrupts;
  const bool doubtful =
      own.on_cpu_ns + own.unknown_ns + hidden_ns != 0 || kernel;

  // --- calls and wall time ---------------------------------------------------
  const std::uint64_t records = interrupts ? MostUnseen() : all.records;
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
    // A lost record hides calls, and changes the time of those that are open;
    // of lost hook records, and of a loss that was noticed late, not only them.
    const bool local = !hooks && !interrupts && all.late_ns == 0;
    const std::uint64_t missing = local ? calls.hi - row.calls : kNone;
    std::uint64_t most_ns = interrupts
                                ? Less(input_.in.end_ns, input_.in.begin_ns)
                                : all.longest_ns;
    most_ns = std::min(most_ns, wall.hi);
    if (local) most_ns = std::min(most_ns, AddBounded(row.wall.max, wall_ns));
    const auto limits = [&](double fraction) {
      return durations.PercentileLimits(fraction, missing, own.calls, most_ns);
    };
    const Bounds longest = limits(1);
    Bounds mean{0, longest.hi};
    if (local) {
      const std::uint64_t sum_ns = durations.sum();
      mean.lo =
          Less(sum_ns, less.wall_ns) / std::max<std::uint64_t>(1, calls.hi);
      mean.hi = std::min(mean.hi, AddBounded(sum_ns, wall_ns) /
                                          std::max<std::uint64_t>(1, calls.lo) +
                                      1);
    }
    row.bounds.Set(Number::kWallMean, 0, mean);
    row.bounds.Set(Number::kWallStddev, 0, {0, longest.hi});
    row.bounds.Set(Number::kWallMin, row.wall.min, {0, limits(0).hi});
    row.bounds.Set(Number::kWallMax, row.wall.max, longest);
    row.bounds.Set(Number::kWallP50, row.wall.p50, limits(0.50));
    row.bounds.Set(Number::kWallP90, row.wall.p90, limits(0.90));
    row.bounds.Set(Number::kWallP99, row.wall.p99, limits(0.99));
  }
  const bool calls_exact = row.bounds.empty();

  // --- on-CPU, off-CPU, waiting, blocked time --------------------------------
  std::uint64_t most_ns = all.most_on_cpu_ns.value_or(kNone);
  if (interrupts) most_ns = kNone;
  Bounds on, on_excl;
  if (row.on_cpu) {
    const std::uint64_t more = own.on_cpu_ns + hidden_ns + kernel_ns;
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
    more = absent ? kNone : AddBounded(more, hooks_ns);
    const bool any = hooks || process.hooks_lost;
    fewer = any ? kNone : AddBounded(fewer, hidden_ns);
    bounds.first =
        Around(pair->incl, AddBounded(fewer, kernel ? late_ns : 0), more);
    bounds.second =
        Around(pair->excl, AddBounded(fewer, own.kernel_ns + late_ns),
               AddBounded(more, AddBounded(child, late_ns)));
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
    const auto by_records = [&](std::uint64_t fewer, std::uint64_t later,
                                std::uint64_t child, std::uint64_t most) {
      const std::uint64_t more =
          absent ? kNone : AddBounded(later, doubtful ? all.records : 0);
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
        by_records(less.switches, own.switches, unseen.children.switches,
                   all.switches);
        break;
      case SegmentSource::kFaults:
        by_records(less.faults, own.faults, unseen.children.faults, all.faults);
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
    if (count->estimate) {
      const bool missing = row.bounds.Of(incl).has_value();
      Bounds whole = IntervalOf(InclusiveOf(*count));
      Bounds part = IntervalOf(ExclusiveOf(*count));
      if (missing) whole.hi = part.hi = kNone;
      row.bounds.Set(incl, count->incl, whole);
      row.bounds.Set(excl, count->excl, part);
      if (count->estimate->of_unseen) {
        row.qualities.Add(count->quality);
        count->quality = Worse(count->quality, Quality::kBounded);
      }
    }
    const bool exact = !row.bounds.Of(incl) && !row.bounds.Of(excl);
    if (!count->estimate) {
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
