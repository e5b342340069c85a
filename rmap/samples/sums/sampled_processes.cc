#include "rmap/samples/sums/sampled_processes.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace countrace::rmap {

void TakeDispatches(const Report& report, Samples& samples) {
  for (const CpuRow& row : report.cpu_rows) {
    samples.interrupts_ns += row.interrupts_ns;
    samples.cpu_ns += row.wall_ns;
  }
  for (const ProcessRow& row : report.processes) {
    if (!row.on_cpu_ns) continue;
    const auto bounds = row.bounds.Of(Number::kOnCpu);
    const std::uint64_t most = bounds ? bounds->hi : *row.on_cpu_ns;
    if (most == Bounds::kNone) continue;
    // An exported page has no bounds of a range: its rule is that of all.
    if (bounds && report.of_range) {
      samples.processes.clear();
      return;
    }
    if (most != 0) samples.processes.push_back({row.index, most});
  }
  DropUnlessOfAll(samples);
}

void DropUnlessOfAll(Samples& samples) {
  std::set<ProcessIndex> with;
  for (const SampledProcess& process : samples.processes) {
    with.insert(process.process);
  }
  // Compiled into exported pages, where the library has no ranges.
  const bool of_all = std::all_of(
      samples.sums.begin(), samples.sums.end(), [&](const SampleSum& sum) {
        return samples.events[sum.event].off_cpu ||
               with.contains(samples.contexts[sum.context].process);
      });
  if (!of_all) samples.processes.clear();
}

}  // namespace countrace::rmap
