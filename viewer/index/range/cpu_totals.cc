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

}  // namespace

std::vector<rmap::CpuRow> CpusIn(const TimelineIndex& index, TimeRange range) {
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
  std::vector<rmap::CpuRow> cpus;
  for (const auto& [cpu, of] : rows) {
    if (!of.cpu) continue;
    rmap::CpuRow totals;
    totals.cpu = cpu;
    totals.wall_ns = wall_ns;
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
    // Interrupts that came while the occupant was not known are known time, but
    // no occupant's.
    const ThreadRun occupants(index, *of.cpu, interrupts);
    const std::uint64_t occupied_ns = occupants.OnCpuBefore(range.end_ns) -
                                      occupants.OnCpuBefore(range.begin_ns);
    totals.busy_ns =
        occupied_ns - std::min(occupied_ns, totals.idle_ns + totals.outside_ns);
    const std::uint64_t known_ns = totals.busy_ns + totals.idle_ns +
                                   totals.outside_ns + totals.interrupts_ns;
    totals.unattributed_ns = wall_ns - std::min(wall_ns, known_ns);
    if (totals.unattributed_ns != 0 ||
        ((index.rows()[*of.cpu].flags & kRowUnsure) != 0 &&
         !index.HasAll(range.begin_ns, range.end_ns))) {
      totals.qualities.Add(rmap::Quality::kBounded);
    }
    cpus.push_back(std::move(totals));
  }
  return cpus;
}

}  // namespace countrace::viewer
