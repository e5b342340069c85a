#include "rmap/samples/sums/sampled_processes.h"

#include <cstdint>
#include <set>

namespace countrace::rmap {

void TakeDispatches(const Report& report, Samples& samples) {
  std::set<ProcessIndex> without;
  for (const SampleContext& context : samples.contexts) {
    without.insert(context.process);
  }
  for (const ProcessRow& row : report.processes) {
    if (!row.on_cpu_ns) continue;
    const auto bounds = row.bounds.Of(Number::kOnCpu);
    const std::uint64_t most = bounds ? bounds->hi : *row.on_cpu_ns;
    if (most == Bounds::kNone) continue;
    samples.processes.push_back({row.index, most});
    without.erase(row.index);
  }
  // What is missing may be of a process whose time has no limit.
  if (!without.empty()) samples.processes.clear();
  for (const CpuRow& row : report.cpu_rows) {
    samples.interrupts_ns += row.interrupts_ns;
    samples.cpu_ns += row.wall_ns;
  }
}

}  // namespace countrace::rmap
