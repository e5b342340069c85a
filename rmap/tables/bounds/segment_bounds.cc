// The part of UnseenBounds for segments and call paths: what a row's calls may
// lack, and what may belong to other rows.
#include <algorithm>
#include <utility>

#include "rmap/result/limits.h"
#include "rmap/tables/bounds/unseen_bounds.h"

namespace countrace::rmap {
namespace {

constexpr std::uint64_t kNone = Bounds::kNone;

}  // namespace

// Sets the limits of one row, in this order: each needs those before it. A lost
// record is one of a CPU or a thread, between two that are there. So a number
// differs by no more than
//   calls    the records that were lost in the process's life
//   wall     the time of the calls that a loss touched, or that were in it
//   on-CPU   that, and more by the time in which its threads may have run
//   waits    that, and the time in which it is not known if they waited
// and one without inner segments by what those may have besides.
class UnseenBounds::SegmentLimits {
 public:
  SegmentLimits(const UnseenBounds& bounds, const ProcessState& process,
                const SegmentUnseen& unseen, SegmentRow& row);
  void OfCalls();
  void OfWall();
  void OfDurations(const DurationStatistics& durations);
  void OfCpuTime();
  void OfWaits();
  void OfCounts();

 private:
  // The limits of a time that is at most its wall time.
  struct Pair {
    Bounds incl, excl;
  };
  Pair LimitsOf(const InclusiveExclusive& time, std::uint64_t fewer_ns,
                std::uint64_t further_ns) const;
  Pair OffCpu(const InclusiveExclusive& time) const {
    return LimitsOf(time, state_ns_, state_ns_);
  }
  void SetOffCpu(const std::optional<InclusiveExclusive>& time, Number incl,
                 Number excl, const std::optional<Pair>& other);
  // Where records show how often the event happened.
  void ByRecords(std::size_t plan, const SegmentCount& count,
                 std::uint64_t most);
  void BySource(std::size_t plan, const SegmentCount& count);
  void OfEstimate(std::size_t plan, SegmentCount& count);

  const UnseenBounds& bounds_;
  const ProcessState& process_;
  const SegmentUnseen& unseen_;
  SegmentRow& row_;
  const OfAll& all_;
  const bool interrupts_;
  // Hook records of its process were lost: calls are missing, and others may
  // be in the wrong path.
  const bool hooks_;
  // What its paths had before is known of a single thread: how much others had
  // added by then depends on the order of reading.
  const CertainSums certain_;
  // Some of its process's system calls and faults were not recorded, nor
  // counted.
  const bool left_out_;
  // ... and others were lost: whether an open call went on is not known.
  const bool unsure_;
  // Calls of kernel segments that were not recorded.
  const bool kernel_;
  // No kernel record shows where one of its threads was.
  const bool absent_;
  const std::uint64_t records_;  // that may be its own
  std::uint64_t less_ns_, more_ns_;
  // Others may be inside it; it may have what those inside it have.
  std::uint64_t inner_ns_, outer_ns_;
  const std::uint64_t hidden_ns_, on_cpu_ns_, state_ns_;
  std::uint64_t certain_less_ns_ = 0;
  Bounds calls_;
  Pair wall_, on_;
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
      interrupts_(&process == &bounds.input_.in.registry.interrupts()),
      hooks_((process.hooks_lost || bounds.input_.in.session_loss) &&
             (!unseen.in_kernel || unseen.path)),
      certain_(process.threads.size() == 1 ? unseen.certain : CertainSums()),
      left_out_(process.calls_left_out && !interrupts_),
      unsure_(left_out_ && all_.records != 0),
      kernel_(unseen.in_kernel &&
              (process.kernel_unknown_ns != 0 || left_out_)),
      absent_(all_.absent && !interrupts_),
      records_(interrupts_ ? bounds.MostUnseen() : all_.records),
      less_ns_(unseen.own.less_ns),
      more_ns_(unseen.own.more_ns),
      inner_ns_(unseen.own.inner_ns),
      outer_ns_(unseen.children.less_ns),
      hidden_ns_(interrupts_ ? bounds.everywhere_ns_ : all_.hidden_ns),
      on_cpu_ns_(unseen.own.on_cpu_ns + hidden_ns_),
      state_ns_(unseen.own.state_ns + hidden_ns_) {
  const TableSources& in = bounds.input_.in;
  // Other kernel segments than those recorded.
  const std::uint64_t late_ns = in.kernel_dumps ? all_.late_ns : 0;
  inner_ns_ += late_ns;
  outer_ns_ += late_ns;
  if (kernel_) {
    less_ns_ = unsure_ ? kNone : less_ns_ + late_ns;
    more_ns_ = left_out_ ? kNone : more_ns_ + process.kernel_unknown_ns;
  } else if (left_out_) {
    inner_ns_ = kNone;
  }
  if (unsure_) outer_ns_ = kNone;
  if (hooks_) {
    certain_less_ns_ = std::exchange(less_ns_, kNone);
    inner_ns_ = outer_ns_ = kNone;
    more_ns_ =
        in.session_loss
            ? kNone
            : AddBounded(more_ns_,
                         process.hook_losses *
                             Less(in.end_ns, process.hooks_lost_since_ns));
  }
}

void UnseenBounds::SegmentLimits::OfCalls() {
  calls_ = Around(row_.calls, unseen_.path ? unseen_.own.fewer_calls : 0,
                  !kernel_    ? 0
                  : left_out_ ? kNone
                              : records_);
  if (hooks_) {
    const std::uint64_t more =
        bounds_.input_.in.session_loss || (kernel_ && left_out_)
            ? kNone
            : process_.hook_records_lost;
    // One of another path may be of this one.
    calls_ = unseen_.path
                 ? Bounds{certain_.calls, AddBounded(unseen_.most_calls, more)}
                 : Around(row_.calls, 0, more);
  }
  row_.bounds.Set(Number::kCalls, row_.calls, calls_);
}

void UnseenBounds::SegmentLimits::OfWall() {
  const std::uint64_t most = interrupts_ ? kNone : all_.lives_ns;
  wall_ = LimitsOf({row_.wall.incl, row_.wall.excl}, 0, 0);
  wall_.incl = Capped(wall_.incl, row_.wall.incl, most);
  if (hooks_) {
    wall_.incl.lo =
        Less(std::min(row_.wall.incl, certain_.wall_ns), certain_less_ns_);
  }
  wall_.excl = Capped(wall_.excl, row_.wall.excl, wall_.incl.hi);
  row_.bounds.Set(Number::kWallIncl, row_.wall.incl, wall_.incl);
  row_.bounds.Set(Number::kWallExcl, row_.wall.excl, wall_.excl);
}

void UnseenBounds::SegmentLimits::OfDurations(
    const DurationStatistics& durations) {
  // A lost record hides calls, and changes the time of those that are open;
  // of lost hook records, and of a loss that was noticed late, not only them.
  const bool local = !hooks_ && !interrupts_ && all_.late_ns == 0;
  const std::uint64_t missing =
      local && calls_.hi != kNone ? calls_.hi - row_.calls : kNone;
  std::uint64_t most_ns =
      interrupts_ ? Less(bounds_.input_.in.end_ns, bounds_.input_.in.begin_ns)
                  : all_.longest_ns;
  most_ns = std::min(most_ns, wall_.incl.hi);
  if (local) most_ns = std::min(most_ns, AddBounded(row_.wall.max, more_ns_));
  const auto limits = [&](double fraction) {
    return durations.PercentileLimits(fraction, missing, unseen_.own.calls,
                                      most_ns);
  };
  const Bounds longest = limits(1);
  Bounds mean{0, longest.hi};
  if (local) {
    const std::uint64_t sum_ns = durations.sum();
    mean.lo = Less(sum_ns, less_ns_) / std::max<std::uint64_t>(1, calls_.hi);
    mean.hi = std::min(mean.hi, AddBounded(sum_ns, more_ns_) /
                                        std::max<std::uint64_t>(1, calls_.lo) +
                                    1);
  }
  row_.bounds.Set(Number::kWallMean, mean.lo, mean);  // not if it is one value
  row_.bounds.Set(Number::kWallStddev, 0, {0, longest.hi});
  row_.bounds.Set(Number::kWallMin, row_.wall.min, {0, limits(0).hi});
  row_.bounds.Set(Number::kWallMax, row_.wall.max, longest);
  row_.bounds.Set(Number::kWallP50, row_.wall.p50, limits(0.50));
  row_.bounds.Set(Number::kWallP90, row_.wall.p90, limits(0.90));
  row_.bounds.Set(Number::kWallP99, row_.wall.p99, limits(0.99));
}

UnseenBounds::SegmentLimits::Pair UnseenBounds::SegmentLimits::LimitsOf(
    const InclusiveExclusive& time, std::uint64_t fewer_ns,
    std::uint64_t further_ns) const {
  const std::uint64_t less = AddBounded(less_ns_, fewer_ns);
  const std::uint64_t more = AddBounded(more_ns_, further_ns);
  return {Around(time.incl, less, more),
          Around(time.excl, AddBounded(less, inner_ns_),
                 AddBounded(more, outer_ns_))};
}

void UnseenBounds::SegmentLimits::OfCpuTime() {
  if (!row_.on_cpu) return;
  // On a known CPU it surely ran.
  const std::uint64_t fewer_ns =
      all_.unbooked_ns + bounds_.input_.in.dispatches.cut_ns();
  on_ = LimitsOf(*row_.on_cpu, fewer_ns, on_cpu_ns_);
  if (hooks_) {
    on_.incl.lo = Less(std::min(row_.on_cpu->incl, certain_.on_cpu_ns),
                       certain_less_ns_ + fewer_ns);
  }
  // At most its wall time, and the process's on-CPU time.
  const std::uint64_t most =
      interrupts_
          ? kNone
          : std::max(row_.on_cpu->incl, all_.most_on_cpu_ns.value_or(kNone));
  on_.incl = AtMost(on_.incl, std::min(wall_.incl.hi, most));
  on_.excl = AtMost(on_.excl, std::min(wall_.excl.hi, most));
  row_.bounds.Set(Number::kOnCpuIncl, row_.on_cpu->incl, on_.incl);
  row_.bounds.Set(Number::kOnCpuExcl, row_.on_cpu->excl, on_.excl);
  row_.bounds.Set(Number::kOffCpuIncl, row_.off_cpu->incl,
                  Rest(wall_.incl, on_.incl));
  row_.bounds.Set(Number::kOffCpuExcl, row_.off_cpu->excl,
                  Rest(wall_.excl, on_.excl));
}

void UnseenBounds::SegmentLimits::SetOffCpu(
    const std::optional<InclusiveExclusive>& time, Number incl, Number excl,
    const std::optional<Pair>& other) {
  if (!time) return;
  Pair limits = OffCpu(*time);
  if (absent_) limits.incl.hi = limits.excl.hi = kNone;
  if (process_.hooks_lost) limits.incl.lo = limits.excl.lo = 0;
  const Pair others = other.value_or(Pair());
  const Bounds whole =
      WithRoom(limits.incl, time->incl,
               Rest(Rest(wall_.incl, on_.incl), others.incl).hi);
  const Bounds rest = Rest(Rest(wall_.excl, on_.excl), others.excl);
  row_.bounds.Set(incl, time->incl, whole);
  row_.bounds.Set(
      excl, time->excl,
      WithRoom(limits.excl, time->excl, std::min(rest.hi, whole.hi)));
}

// It waits or is blocked in the rest of the time, one at a time.
void UnseenBounds::SegmentLimits::OfWaits() {
  const auto limits = [this](const std::optional<InclusiveExclusive>& time) {
    return time ? std::optional(OffCpu(*time)) : std::nullopt;
  };
  const auto wait = limits(row_.wait), blocked = limits(row_.blocked);
  SetOffCpu(row_.wait, Number::kWaitIncl, Number::kWaitExcl, blocked);
  SetOffCpu(row_.blocked, Number::kBlockedIncl, Number::kBlockedExcl, wait);
}

void UnseenBounds::SegmentLimits::ByRecords(std::size_t plan,
                                            const SegmentCount& count,
                                            std::uint64_t most) {
  const std::uint64_t events = unseen_.own.events;
  const std::uint64_t records =
      (on_cpu_ns_ | state_ns_) != 0 || kernel_ || hooks_ ? records_ : 0;
  const std::uint64_t more = absent_ ? kNone : AddBounded(events, records);
  Bounds whole = Around(count.incl, events, more);
  Bounds part = Around(count.excl, inner_ns_ != 0 ? kNone : events,
                       AddBounded(more, unseen_.children.events));
  if (kernel_ || hooks_) {
    whole.hi = part.hi = AddBounded(most, records);
  }
  if (hooks_ || unsure_ || (kernel_ && all_.late_ns != 0)) whole.lo = 0;
  row_.bounds.Set(CountNumber(plan, CountPart::kIncl), count.incl, whole);
  row_.bounds.Set(CountNumber(plan, CountPart::kExcl), count.excl, part);
}

void UnseenBounds::SegmentLimits::BySource(std::size_t plan,
                                           const SegmentCount& count) {
  const Number incl = CountNumber(plan, CountPart::kIncl);
  const Number excl = CountNumber(plan, CountPart::kExcl);
  switch (bounds_.input_.plans[plan].source) {
    case SegmentSource::kNone:
      break;
    case SegmentSource::kOnCpuTime:
      row_.bounds.Set(incl, count.incl, on_.incl);
      row_.bounds.Set(excl, count.excl, on_.excl);
      break;
    case SegmentSource::kSwitches:
      ByRecords(plan, count, interrupts_ ? bounds_.switches_ : all_.switches);
      break;
    case SegmentSource::kFaults:
      ByRecords(plan, count, interrupts_ ? bounds_.faults_ : all_.faults);
      break;
    case SegmentSource::kThreadDumps:
      if (count.quality < Quality::kBounded && !hooks_) break;
      row_.bounds.Set(incl, count.incl,
                      {hooks_ && unseen_.path ? 0 : count.incl, kNone});
      row_.bounds.Set(excl, count.excl, Bounds());
      break;
    case SegmentSource::kKernelDumps: {
      const bool lacks = count.quality >= Quality::kBounded;
      if (!lacks && (on_cpu_ns_ | state_ns_) == 0 && !kernel_ && !hooks_ &&
          inner_ns_ == 0) {
        break;
      }
      const std::uint64_t most = interrupts_ || plan >= all_.most_counts.size()
                                     ? kNone
                                     : all_.most_counts[plan];
      const bool whole = unseen_.own.less_ns == 0 && !hooks_ && !unsure_;
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
  Bounds whole = InclusiveOf(count).Limits();
  Bounds part = ExclusiveOf(count).Limits();
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
  limits.OfWall();
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
