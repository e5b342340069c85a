#include "rmap/tables/rows/cpu_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rmap/tables/input/account_sums.h"

namespace countrace::rmap {

namespace {

void ScaleCpu(const TableInput& input, const CpuState& cpu, CpuRow& row) {
  row.scaled.resize(input.plans.size());
  for (std::size_t i = 0; i < input.plans.size(); ++i) {
    if (!input.Rotates(input.plans[i])) continue;
    const std::size_t event = *input.plans[i].cpu_event;
    row.counts[i].reset();
    ScaledCount sum;
    ErrorSum error;
    for (const auto account : kBookAccounts) {
      const CpuAccount& from = cpu.*account;
      const SliceSums* const slices = from.slices.Find(event);
      if (slices == nullptr) continue;
      const auto part = slices->Estimate(from.ns);
      if (!part) continue;
      sum.value += part->value;
      sum.counted += part->counted;
      sum.slices = std::max(sum.slices, part->slices);
      error.Add(*part);
    }
    sum.running = RunningNs(input, cpu, event);
    if (sum.running == 0) continue;
    sum.enabled = row.wall_ns;
    error.Set(sum);
    row.scaled[i] = sum;
    row.counts[i] = sum.value;
  }
}

}  // namespace

void BuildCpus(const TableInput& input, const UnseenBounds& bounds,
               Report& report) {
  for (const CpuState& cpu : input.in.dispatches.cpus()) {
    if (!cpu.begun()) continue;
    CpuRow row;
    row.cpu = cpu.cpu;
    row.wall_ns = cpu.last_ns - cpu.begin_ns - cpu.absent_ns;
    row.busy_ns = cpu.busy.ns;
    row.idle_ns = cpu.idle.ns;
    row.interrupts_ns = cpu.interrupts.ns;
    row.outside_ns = cpu.outside.ns;
    row.unattributed_ns = cpu.unattributed.ns;
    row.dispatches = cpu.dispatches;
    CounterValues totals{};
    for (std::size_t i = 0; i < totals.size(); ++i) {
      totals[i] =
          cpu.counters.closed[i] + cpu.counters.last[i] - cpu.counters.first[i];
    }
    row.counts = input.ToCounts(totals);
    ScaleCpu(input, cpu, row);
    const MeasureSet counted =
        cpu.counters.counted | cpu.counters.counted_before;
    for (std::size_t i = 0; i < input.plans.size(); ++i) {
      // Counted on other CPUs only: absent, not 0.
      if (row.counts[i] && !counted.Has(*input.plans[i].cpu_event)) {
        row.counts[i].reset();
      }
    }
    bounds.OfCpu(cpu, row);
    report.cpu_rows.push_back(std::move(row));
  }
  std::sort(report.cpu_rows.begin(), report.cpu_rows.end(),
            [](const CpuRow& a, const CpuRow& b) { return a.cpu < b.cpu; });
}

}  // namespace countrace::rmap
