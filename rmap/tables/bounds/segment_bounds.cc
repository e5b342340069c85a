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

// Sets the limits of one row, in this order: each needs those before it.
class UnseenBounds::SegmentLimits {
 public:
  SegmentLimits(const UnseenBounds& bounds, const ProcessState& process,
                const SegmentUnseen& unseen, SegmentRow& row);
  void OfCalls();
  void OfDurations(const DurationStatistics& durations);
  void OfCpuTime();
  void OfWaits();
  void OfCounts();

 private:
  using Pair = std::optional<InclusiveExclusive>;
  using PairBounds = std::pair<Bounds, Bounds>;
  PairBounds OffCpu(const Pair& pair, std::uint64_t fewer,
                    std::uint64_t child) const;
  void SetOffCpu(const Pair& pair, Number incl, Number excl,
                 const PairBounds& bounds, const PairBounds& other);
  // Where records show how often the event happened.
  void ByRecords(std::size_t plan, const SegmentCount& count,
                 std::uint64_t fewer, std::uint64_t later, std::uint64_t child,
                 std::uint64_t most);
  void BySource(std::size_t plan, const SegmentCount& count);
  void OfEstimate(std::size_t plan, SegmentCount& count);

  const UnseenBounds& bounds_;
  const ProcessState& process_;
  const SegmentUnseen& unseen_;
  SegmentRow& row_;
  const OfAll& all_;
  const UnseenSums& own_;
  const UnseenSums::Less& less_;
  const bool interrupts_;
  const std::uint64_t hidden_ns_;
  // Hook records of its process were lost: calls are missing, and others may
  // be in the wrong path.
  const bool hooks_;
  std::uint64_t hooks_ns_ = 0;
  // What its paths had before is known of a single thread: how much others had
  // added by then depends on the order of reading.
  const CertainSums certain_;
  // Calls of kernel segments that were not recorded.
  const bool kernel_;
  const std::uint64_t kernel_ns_;
  // Switches and faults that its own CPU time and waiting time have, too.
  const bool absent_, doubtful_;
  Bounds calls_, wall_, wall_excl_, on_, on_excl_;
  std::uint64_t wall_ns_ = 0, late_ns_ = 0;
};

UnseenBounds::SegmentLimits::SegmentLimits(const UnseenBounds& bounds,
                                           const ProcessState& process,
                                           const SegmentUnseen& unseen,
                                           SegmentRow& row)
    : bounds_(bounds),
      process_(process),
      unseen_(unseen),
      row_(row),
      all_(bounds.Known(process)),
      own_(unseen.own),
      less_(unseen.own.less),
      interrupts_(&process == &bounds.input_.in.registry.interrupts()),
      hidden_ns_(interrupts_ ? bounds.everywhere_ns_ : all_.hidden_ns),
      hooks_((process.hooks_lost || bounds.input_.in.session_loss) &&
             (!unseen.in_kernel || unseen.path)),
      certain_(process.threads.size() == 1 ? unseen.certain : CertainSums()),
      kernel_(unseen.in_kernel && process.kernel_unknown_ns != 0),
      kernel_ns_(kernel_ ? process.kernel_unknown_ns : 0),
      absent_(all_.absent && !interrupts_),
      doubtful_(own_.on_cpu_ns + own_.unknown_ns + hidden_ns_ != 0 || kernel_) {
  const TableSources& in = bounds.input_.in;
  if (hooks_) {
    hooks_ns_ = in.session_loss
                    ? kNone
                    : process.hook_losses *
                          Less(in.end_ns, process.hooks_lost_since_ns);
  }
}

void UnseenBounds::SegmentLimits::OfCalls() {
  const std::uint64_t records =
      interrupts_ ? bounds_.MostUnseen() : all_.records;
  calls_ =
      Around(row_.calls, unseen_.path ? less_.calls : 0, kernel_ ? records : 0);
  if (hooks_) {
    calls_ = unseen_.path ? Bounds{certain_.calls, kNone}
                          : Around(row_.calls, 0,
                                   bounds_.input_.in.session_loss
                                       ? kNone
                                       : process_.hook_records_lost);
  }
  row_.bounds.Set(Number::kCalls, row_.calls, calls_);
  wall_ns_ = AddBounded(kernel_ns_, own_.wall_ns);
  // Other kernel segments than those recorded.
  late_ns_ = bounds_.input_.in.kernel_dumps ? all_.late_ns : 0;
  wall_ = Around(row_.wall.incl, less_.wall_ns + (kernel_ ? late_ns_ : 0),
                 wall_ns_);
  wall_excl_ = Around(
      row_.wall.excl, less_.wall_ns + own_.kernel_ns + late_ns_,
      AddBounded(wall_ns_, AddBounded(unseen_.children.wall_ns, late_ns_)));
  if (hooks_) {
    wall_ = {std::min(wall_.lo, certain_.wall_ns),
             AddBounded(wall_.hi, hooks_ns_)};
    wall_excl_ = {0, AddBounded(wall_excl_.hi, hooks_ns_)};
  }
  if (!interrupts_) {
    wall_ = Capped(wall_, row_.wall.incl, all_.lives_ns);
    wall_excl_ = Capped(wall_excl_, row_.wall.excl, all_.lives_ns);
  }
  row_.bounds.Set(Number::kWallIncl, row_.wall.incl, wall_);
  row_.bounds.Set(Number::kWallExcl, row_.wall.excl, wall_excl_);
}

void UnseenBounds::SegmentLimits::OfDurations(
    const DurationStatistics& durations) {
  // A lost record hides calls, and changes the time of those that are open;
  // of lost hook records, and of a loss that was noticed late, not only them.
  const bool local = !hooks_ && !interrupts_ && all_.late_ns == 0;
  const std::uint64_t missing = local ? calls_.hi - row_.calls : kNone;
  std::uint64_t most_ns =
      interrupts_ ? Less(bounds_.input_.in.end_ns, bounds_.input_.in.begin_ns)
                  : all_.longest_ns;
  most_ns = std::min(most_ns, wall_.hi);
  if (local) most_ns = std::min(most_ns, AddBounded(row_.wall.max, wall_ns_));
  const auto limits = [&](double fraction) {
    return durations.PercentileLimits(fraction, missing, own_.calls, most_ns);
  };
  const Bounds longest = limits(1);
  Bounds mean{0, longest.hi};
  if (local) {
    const std::uint64_t sum_ns = durations.sum();
    mean.lo =
        Less(sum_ns, less_.wall_ns) / std::max<std::uint64_t>(1, calls_.hi);
    mean.hi = std::min(mean.hi, AddBounded(sum_ns, wall_ns_) /
                                        std::max<std::uint64_t>(1, calls_.lo) +
                                    1);
  }
  row_.bounds.Set(Number::kWallMean, 0, mean);
  row_.bounds.Set(Number::kWallStddev, 0, {0, longest.hi});
  row_.bounds.Set(Number::kWallMin, row_.wall.min, {0, limits(0).hi});
  row_.bounds.Set(Number::kWallMax, row_.wall.max, longest);
  row_.bounds.Set(Number::kWallP50, row_.wall.p50, limits(0.50));
  row_.bounds.Set(Number::kWallP90, row_.wall.p90, limits(0.90));
  row_.bounds.Set(Number::kWallP99, row_.wall.p99, limits(0.99));
}

void UnseenBounds::SegmentLimits::OfCpuTime() {
  if (!row_.on_cpu) return;
  std::uint64_t most_ns = all_.most_on_cpu_ns.value_or(kNone);
  if (interrupts_) most_ns = kNone;
  const std::uint64_t more = own_.on_cpu_ns + hidden_ns_ + kernel_ns_;
  const std::uint64_t fewer = less_.on_cpu_ns + all_.unbooked_ns +
                              bounds_.input_.in.dispatches.cut_ns();
  on_ = Around(row_.on_cpu->incl, fewer, AddBounded(more, hooks_ns_));
  on_excl_ = Around(
      row_.on_cpu->excl, fewer + own_.kernel_ns + unseen_.uncovered_ns,
      AddBounded(AddBounded(more, unseen_.children.on_cpu_ns), hooks_ns_));
  if (hooks_) {
    on_.lo = std::min(on_.lo, certain_.on_cpu_ns);
    on_excl_.lo = 0;
  }
  // At most its wall time, and the process's on-CPU time.
  const std::uint64_t cap = std::max(row_.on_cpu->incl, most_ns);
  on_ = AtMost(on_, std::min(wall_.hi, cap));
  on_excl_ = AtMost(on_excl_, std::min(wall_excl_.hi, cap));
  row_.bounds.Set(Number::kOnCpuIncl, row_.on_cpu->incl, on_);
  row_.bounds.Set(Number::kOnCpuExcl, row_.on_cpu->excl, on_excl_);
  row_.bounds.Set(Number::kOffCpuIncl, row_.off_cpu->incl, Rest(wall_, on_));
  row_.bounds.Set(Number::kOffCpuExcl, row_.off_cpu->excl,
                  Rest(wall_excl_, on_excl_));
}

UnseenBounds::SegmentLimits::PairBounds UnseenBounds::SegmentLimits::OffCpu(
    const Pair& pair, std::uint64_t fewer, std::uint64_t child) const {
  PairBounds bounds;
  if (!pair) return bounds;
  std::uint64_t more = AddBounded(own_.unknown_ns + hidden_ns_, kernel_ns_);
  more = absent_ ? kNone : AddBounded(more, hooks_ns_);
  const bool any = hooks_ || process_.hooks_lost;
  fewer = any ? kNone : AddBounded(fewer, hidden_ns_);
  bounds.first =
      Around(pair->incl, AddBounded(fewer, kernel_ ? late_ns_ : 0), more);
  bounds.second =
      Around(pair->excl, AddBounded(fewer, own_.kernel_ns + late_ns_),
             AddBounded(more, AddBounded(child, late_ns_)));
  return bounds;
}

void UnseenBounds::SegmentLimits::SetOffCpu(const Pair& pair, Number incl,
                                            Number excl,
                                            const PairBounds& bounds,
                                            const PairBounds& other) {
  if (!pair) return;
  row_.bounds.Set(incl, pair->incl,
                  WithRoom(bounds.first, pair->incl,
                           Rest(Rest(wall_, on_), other.first).hi));
  row_.bounds.Set(excl, pair->excl,
                  WithRoom(bounds.second, pair->excl,
                           Rest(Rest(wall_excl_, on_excl_), other.second).hi));
}

// It waits or is blocked in the rest of the time, one at a time.
void UnseenBounds::SegmentLimits::OfWaits() {
  const auto wait = OffCpu(row_.wait, less_.wait_ns, unseen_.children.wait_ns);
  const auto blocked =
      OffCpu(row_.blocked, less_.blocked_ns, unseen_.children.blocked_ns);
  SetOffCpu(row_.wait, Number::kWaitIncl, Number::kWaitExcl, wait,
            row_.blocked ? blocked : PairBounds());
  SetOffCpu(row_.blocked, Number::kBlockedIncl, Number::kBlockedExcl, blocked,
            row_.wait ? wait : PairBounds());
}

void UnseenBounds::SegmentLimits::ByRecords(
    std::size_t plan, const SegmentCount& count, std::uint64_t fewer,
    std::uint64_t later, std::uint64_t child, std::uint64_t most) {
  const Number incl = CountNumber(plan, CountPart::kIncl);
  const Number excl = CountNumber(plan, CountPart::kExcl);
  const std::uint64_t more =
      absent_ ? kNone : AddBounded(later, doubtful_ ? all_.records : 0);
  Bounds whole = Around(count.incl, fewer, more);
  Bounds part = Around(count.excl, own_.kernel_ns != 0 ? kNone : fewer,
                       AddBounded(more, child));
  if (kernel_) whole.hi = part.hi = AddBounded(most, all_.records);
  if (kernel_ && interrupts_) whole.hi = part.hi = kNone;
  if (hooks_) whole = part = {0, AddBounded(most, all_.records)};
  if (late_ns_ != 0) {
    if (kernel_) whole.lo = 0;
    part.lo = 0;
  }
  row_.bounds.Set(incl, count.incl, whole);
  row_.bounds.Set(excl, count.excl, part);
}

void UnseenBounds::SegmentLimits::BySource(std::size_t plan,
                                           const SegmentCount& count) {
  const Number incl = CountNumber(plan, CountPart::kIncl);
  const Number excl = CountNumber(plan, CountPart::kExcl);
  switch (bounds_.input_.plans[plan].source) {
    case SegmentSource::kNone:
      break;
    case SegmentSource::kOnCpuTime:
      row_.bounds.Set(incl, count.incl, on_);
      row_.bounds.Set(excl, count.excl, on_excl_);
      break;
    case SegmentSource::kSwitches:
      ByRecords(plan, count, less_.switches, own_.switches,
                unseen_.children.switches, all_.switches);
      break;
    case SegmentSource::kFaults:
      ByRecords(plan, count, less_.faults, own_.faults, unseen_.children.faults,
                all_.faults);
      break;
    case SegmentSource::kThreadDumps:
      if (count.quality < Quality::kBounded && !hooks_) break;
      row_.bounds.Set(incl, count.incl,
                      {hooks_ && unseen_.path ? 0 : count.incl, kNone});
      row_.bounds.Set(excl, count.excl, Bounds());
      break;
    case SegmentSource::kKernelDumps: {
      const bool lacks = count.quality >= Quality::kBounded;
      if (!lacks && !doubtful_ && !hooks_ && own_.kernel_ns == 0) break;
      const std::uint64_t most = interrupts_ || plan >= all_.most_counts.size()
                                     ? kNone
                                     : all_.most_counts[plan];
      const bool whole = less_.calls + less_.wall_ns == 0 && !hooks_;
      row_.bounds.Set(incl, count.incl,
                      {whole ? count.incl : 0, std::max(most, count.incl)});
      row_.bounds.Set(excl, count.excl, {0, std::max(most, count.incl)});
      break;
    }
  }
}

void UnseenBounds::SegmentLimits::OfEstimate(std::size_t plan,
                                             SegmentCount& count) {
  const Number incl = CountNumber(plan, CountPart::kIncl);
  const Number excl = CountNumber(plan, CountPart::kExcl);
  const bool missing = row_.bounds.Of(incl).has_value();
  Bounds whole = IntervalOf(InclusiveOf(count));
  Bounds part = IntervalOf(ExclusiveOf(count));
  if (missing) whole.hi = part.hi = kNone;
  row_.bounds.Set(incl, count.incl, whole);
  row_.bounds.Set(excl, count.excl, part);
  if (count.estimate->of_unseen) {
    row_.qualities.Add(count.quality);
    count.quality = Worse(count.quality, Quality::kBounded);
  }
}

void UnseenBounds::SegmentLimits::OfCounts() {
  for (std::size_t i = 0; i < bounds_.input_.plans.size(); ++i) {
    std::optional<SegmentCount>& count = row_.counts[i];
    if (!count) continue;
    BySource(i, *count);
    if (count->estimate) OfEstimate(i, *count);
    const bool exact = !row_.bounds.Of(CountNumber(i, CountPart::kIncl)) &&
                       !row_.bounds.Of(CountNumber(i, CountPart::kExcl));
    if (!count->estimate) {
      // perf multiplexed its counter: an estimate whose error is not known.
      const Quality least = count->quality == Quality::kScaled
                                ? Quality::kScaled
                                : Quality::kExact;
      row_.qualities.Add(least);
      count->quality = exact ? least : Quality::kBounded;
    }
    row_.qualities.Add(count->quality);
  }
}

void UnseenBounds::OfSegment(const ProcessState& process,
                             const SegmentUnseen& unseen,
                             const DurationStatistics& durations,
                             SegmentRow& row) const {
  SegmentLimits limits(*this, process, unseen, row);
  limits.OfCalls();
  if (row.bounds.Of(Number::kCalls) || row.bounds.Of(Number::kWallIncl)) {
    limits.OfDurations(durations);
  }
  const bool calls_exact = row.bounds.empty();
  limits.OfCpuTime();
  limits.OfWaits();
  const bool times_exact = row.bounds.empty();
  limits.OfCounts();
  row.quality = calls_exact ? Quality::kExact : Quality::kBounded;
  row.on_cpu_quality = times_exact ? Quality::kExact : Quality::kBounded;
  row.qualities.Add(row.quality);
  if (row.on_cpu) row.qualities.Add(row.on_cpu_quality);
}

}  // namespace countrace::rmap
