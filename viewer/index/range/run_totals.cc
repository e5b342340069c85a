#include "viewer/index/range/run_totals.h"

#include <algorithm>

namespace countrace::viewer {
CountedRange::CountedRange(const TimelineIndex& index, TimeRange of)
    : range(of) {
  const std::uint64_t duration_ns = index.duration_ns();
  if (range.end_ns >= duration_ns) range.end_ns = duration_ns + 1;
  range.begin_ns = std::min(range.begin_ns, range.end_ns);
  wall_ns = std::min(range.end_ns, duration_ns) -
            std::min(range.begin_ns, duration_ns);
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
  sum.marks.resize(sum.counts.size());
  for (std::size_t i = 0; i < part.marks.size(); ++i) {
    sum.marks[i] = std::max(sum.marks[i], part.marks[i]);
  }
  sum.incomplete |= part.incomplete;
}

void AddQualities(const TimelineIndex& index, TimeRange range,
                  std::uint32_t unsure, RunTotals& run) {
  bool bounded = index.IsUnsure(unsure, range.begin_ns, range.end_ns);
  for (std::uint32_t i = 0; i < run.marks.size(); ++i) {
    if (index.IsInTurns(i)) {
      run.qualities.Add(rmap::Quality::kScaled);
    } else {
      bounded |= run.marks[i] != CountMark::kExact;
    }
  }
  if (bounded) run.qualities.Add(rmap::Quality::kBounded);
}

RunTotals RunTotalsIn(const ThreadRun& run, TimeRange range,
                      std::uint32_t events) {
  RunTotals totals;
  const IntervalRow& row = run.dispatches();
  totals.counts.resize(events);
  totals.marks.resize(events);
  totals.incomplete = (row.entry().flags & kRowCountsUnknown) != 0;
  const std::uint64_t first = row.FirstNotOver(range.begin_ns);
  const std::uint64_t end = row.FirstBeginning(range.end_ns);
  // Most threads of a machine sleep: all that is in the range are faults whose
  // dispatch is not known.
  const bool slept = first >= end;
  if (slept && run.FaultsIn(range) == 0) return totals;
  // Dispatches that an edge cuts have any part of their counts in the range.
  const std::uint64_t first_whole =
      slept ? first : row.FirstBeginning(range.begin_ns, first);
  const std::uint64_t end_whole =
      slept ? first : row.FirstNotOver(range.end_ns, first);
  if (!slept) {
    totals.dispatches = end - first_whole;
    totals.on_cpu_ns =
        run.OnCpuBefore(range.end_ns) - run.OnCpuBefore(range.begin_ns);
  }
  const auto sum = [&](std::uint64_t begin, std::uint64_t until,
                       std::uint32_t event) -> std::uint64_t {
    if (until <= begin) return 0;
    return row.SumOfFirst(until, 1 + event) - row.SumOfFirst(begin, 1 + event);
  };
  for (std::uint32_t event = 0; event < events; ++event) {
    if (run.RuleOf(event) == CountRule::kSpread) {
      // Which part is not known: as in the report, it is in neither range.
      totals.counts[event] = sum(first_whole, end_whole, event);
      if (sum(first, end, event) != totals.counts[event]) {
        totals.marks[event] = CountMark::kAtLeast;
      }
    } else {
      const IntervalRow::Cumulative before =
          run.CountBefore(range.begin_ns, event);
      const IntervalRow::Cumulative until =
          run.CountBefore(range.end_ns, event);
      totals.counts[event] = until.value - before.value;
      if (before.estimated || until.estimated) {
        totals.marks[event] = CountMark::kAbout;
      }
    }
  }
  return totals;
}

}  // namespace countrace::viewer
