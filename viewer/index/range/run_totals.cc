#include "viewer/index/range/run_totals.h"

#include <algorithm>

namespace countrace::viewer {
namespace {

void AddLimits(Limits& sum, const Limits& part) {
  sum.lo += part.lo;
  sum.hi = AtMost(sum.hi, part.hi);
}

}  // namespace

CountedRange::CountedRange(const TimelineIndex& index, TimeRange of)
    : range(of) {
  const std::uint64_t duration_ns = index.duration_ns();
  if (range.end_ns >= duration_ns) range.end_ns = duration_ns + 1;
  range.begin_ns = std::min(range.begin_ns, range.end_ns);
  wall_ns = std::min(range.end_ns, duration_ns) -
            std::min(range.begin_ns, duration_ns);
  whole = range.begin_ns == 0 && range.end_ns > duration_ns;
}

void AddTotals(RunTotals& sum, const RunTotals& part) {
  sum.on_cpu_ns += part.on_cpu_ns;
  sum.dispatches += part.dispatches;
  if (sum.counts.size() < part.counts.size()) {
    sum.counts.resize(part.counts.size());
  }
  for (std::size_t i = 0; i < part.counts.size(); ++i) {
    sum.counts[i] += part.counts[i];
  }
  AddLimits(sum.on_cpu_limits, part.on_cpu_limits);
  AddLimits(sum.dispatches_limits, part.dispatches_limits);
  sum.count_limits.resize(sum.counts.size());
  for (std::size_t i = 0; i < part.count_limits.size(); ++i) {
    AddLimits(sum.count_limits[i], part.count_limits[i]);
  }
  sum.shown_limits.resize(sum.counts.size());
  for (std::size_t i = 0; i < part.shown_limits.size(); ++i) {
    AddLimits(sum.shown_limits[i], part.shown_limits[i]);
  }
  sum.estimated |= part.estimated;
  sum.incomplete |= part.incomplete;
}

RunTotals RunTotalsIn(const ThreadRun& run, TimeRange range,
                      std::uint32_t events) {
  RunTotals totals;
  const IntervalRow& row = run.dispatches();
  totals.counts.resize(events);
  totals.dispatches =
      row.FirstBeginning(range.end_ns) - row.FirstBeginning(range.begin_ns);
  totals.on_cpu_ns =
      run.OnCpuBefore(range.end_ns) - run.OnCpuBefore(range.begin_ns);
  std::vector<bool> estimated(events);
  // Dispatches that an edge cuts have any part of their counts in the range.
  const std::uint64_t first = row.FirstNotOver(range.begin_ns);
  const std::uint64_t first_whole = row.FirstBeginning(range.begin_ns);
  const std::uint64_t end_whole = row.FirstNotOver(range.end_ns);
  const std::uint64_t end = row.FirstBeginning(range.end_ns);
  const auto sum = [&](std::uint64_t begin, std::uint64_t until,
                       std::uint32_t event) -> std::uint64_t {
    if (until <= begin) return 0;
    return row.SumOfFirst(until, 1 + event) - row.SumOfFirst(begin, 1 + event);
  };
  for (std::uint32_t event = 0; event < events; ++event) {
    if (run.RuleOf(event) == CountRule::kSpread) {
      // Which part is not known: as in the report, it is in neither range.
      totals.counts[event] = sum(first_whole, end_whole, event);
      estimated[event] = sum(first, end, event) != totals.counts[event];
    } else {
      const IntervalRow::Cumulative before =
          run.CountBefore(range.begin_ns, event);
      const IntervalRow::Cumulative until =
          run.CountBefore(range.end_ns, event);
      totals.counts[event] = until.value - before.value;
      estimated[event] = before.estimated || until.estimated;
    }
    totals.estimated |= estimated[event];
  }
  totals.on_cpu_limits = {totals.on_cpu_ns, totals.on_cpu_ns};
  totals.dispatches_limits = {totals.dispatches, totals.dispatches};
  for (std::uint32_t event = 0; event < events; ++event) {
    const Limits exact = {totals.counts[event], totals.counts[event]};
    if (run.RuleOf(event) == CountRule::kAtFaults) {
      const Limits limits = run.FaultLimitsIn(range, event);
      const std::uint64_t count = totals.counts[event];
      totals.count_limits.push_back(
          {std::min(limits.lo, count), std::max(limits.hi, count)});
      totals.shown_limits.push_back(totals.count_limits.back());
      continue;
    }
    // A clock's part is where the time is, and a switch that no record shows
    // may have taken some of it.
    if (!estimated[event] && run.RuleOf(event) != CountRule::kOnCpu) {
      totals.count_limits.push_back(exact);
      totals.shown_limits.push_back(exact);
      continue;
    }
    totals.count_limits.push_back(
        {std::min(sum(first_whole, end_whole, event), totals.counts[event]),
         std::max(sum(first, end, event), totals.counts[event])});
    totals.shown_limits.push_back(estimated[event] ? totals.count_limits.back()
                                                   : exact);
  }
  totals.incomplete = (row.entry().flags & kRowCountsUnknown) != 0;
  return totals;
}

}  // namespace countrace::viewer
