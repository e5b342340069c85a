#include "viewer/index/range/cpu_totals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {
namespace {

// Rows of one CPU.
struct Rows {
  std::optional<std::uint32_t> cpu, idle, outside;
};

// As rmap's UnseenBounds::OfCpu().
void SetLimits(const CpuLimits& limits, std::uint64_t wall_ns, bool interrupts,
               bool outside, CpuTotals& totals) {
  const auto around = [wall_ns](std::uint64_t ns, std::uint64_t less_ns,
                                std::uint64_t more_ns) {
    return Limits{ns - std::min(ns, less_ns),
                  std::max(ns, std::min(AtMost(ns, more_ns), wall_ns))};
  };
  const std::uint64_t unknown_ns = totals.unknown_ns;
  totals.busy_limits =
      around(totals.busy_ns, 0, AtMost(unknown_ns, limits.busy_more));
  totals.idle_limits =
      around(totals.idle_ns, 0, AtMost(unknown_ns, limits.idle_more));
  totals.interrupts_limits =
      around(totals.interrupts_ns, limits.interrupts_less,
             AtMost(interrupts ? unknown_ns : 0, limits.interrupts_more));
  totals.outside_limits =
      around(totals.outside_ns, limits.outside_less,
             AtMost(outside ? unknown_ns : 0, limits.outside_more));
  totals.dispatches_limits = {totals.dispatches, totals.dispatches};
  if (unknown_ns != 0 || limits.dispatches != 0) {
    // One that goes on behind a loss may have begun before the range.
    totals.dispatches_limits = {
        totals.dispatches - std::min<std::uint64_t>(totals.dispatches, 1),
        kUnknownTime};
  }
}

}  // namespace

std::vector<CpuTotals> CpusIn(const TimelineIndex& index, TimeRange range) {
  range.end_ns = std::min(range.end_ns, index.duration_ns());
  range.begin_ns = std::min(range.begin_ns, range.end_ns);
  const std::uint64_t wall_ns = range.end_ns - range.begin_ns;
  // Boundaries at the last instant count.
  const std::uint64_t count_end_ns =
      range.end_ns + (range.end_ns == index.duration_ns() ? 1 : 0);
  std::map<std::uint32_t, Rows> rows;
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    if (entry.kind == RowKind::kCpu) rows[entry.owner].cpu = number;
    if (entry.kind == RowKind::kIdleRun) rows[entry.owner].idle = number;
    if (entry.kind == RowKind::kOutsideRun) rows[entry.owner].outside = number;
  }
  const InterruptRows interrupts(index);
  const auto has = [&index](RowKind kind) {
    return std::any_of(
        index.rows().begin(), index.rows().end(),
        [kind](const RowEntry& row) { return row.kind == kind; });
  };
  const bool has_interrupts = has(RowKind::kInterruptTime);
  const bool has_outside = has(RowKind::kOutsideRun);
  std::vector<CpuTotals> cpus;
  for (const auto& [cpu, of] : rows) {
    if (!of.cpu) continue;
    CpuTotals totals;
    totals.cpu = cpu;
    const auto begun = [&](std::uint32_t number) {
      const IntervalRow row(index, number);
      return row.FirstBeginning(count_end_ns) -
             row.FirstBeginning(range.begin_ns);
    };
    totals.dispatches = begun(*of.cpu);
    for (const auto& [part, ns] : {std::pair(of.idle, &totals.idle_ns),
                                   std::pair(of.outside, &totals.outside_ns)}) {
      if (!part) continue;
      const ThreadRun run(index, *part, interrupts);
      *ns = run.OnCpuBefore(range.end_ns) - run.OnCpuBefore(range.begin_ns);
      totals.dispatches -= std::min(totals.dispatches, begun(*part));
    }
    totals.interrupts_ns = interrupts.TimeIn(cpu, range);
    const IntervalRow occupants(index, *of.cpu);
    const std::uint64_t known_ns = occupants.Before(range.end_ns, 0).value -
                                   occupants.Before(range.begin_ns, 0).value;
    // Interrupts that came while the occupant was not known are known time.
    const std::uint64_t apart_ns =
        totals.idle_ns + totals.outside_ns + totals.interrupts_ns;
    totals.busy_ns = known_ns - std::min(known_ns, apart_ns);
    totals.unknown_ns = wall_ns - std::min(wall_ns, totals.busy_ns + apart_ns);
    CpuLimits limits{};
    for (const CpuLimits& of_cpu : index.cpu_limits()) {
      if (of_cpu.cpu == cpu) limits = of_cpu;
    }
    SetLimits(limits, wall_ns, has_interrupts, has_outside, totals);
    cpus.push_back(totals);
  }
  return cpus;
}

}  // namespace countrace::viewer
