// Rotations of event sets on a CPU: EndTurn() and FollowTurn() of
// interval_counts.h.
#include "rmap/dispatch/interval_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace countrace::rmap {
namespace {

void AddSlices(const EventSetDumps& dumps, std::size_t set,
               const CounterValues& counts, std::vector<SliceSums>& slices) {
  if (slices.empty()) slices.resize(dumps.sets().events);
  const std::size_t first = dumps.sets().first_event(set);
  for (std::size_t i = 0; i < dumps.sets().sizes[set]; ++i) {
    slices[first + i].Add(counts[dumps.running_of(set)], counts[first + i]);
  }
}

}  // namespace

void EndTurn(CpuState& cpu, const EventSetDumps& dumps) {
  if (cpu.counters.turn == 0) return;
  const std::size_t set = cpu.counters.mmcr;
  // Counts may be unattributed although the time is attributed: the
  // unattributed part is estimated from all the time of the CPU.
  const std::size_t running = dumps.running_of(set);
  TurnCounts nobodys{nullptr, &cpu.unattributed, {}};
  for (const TurnCounts& row : cpu.counters.in_turn) {
    if (row.account == &cpu.unattributed) nobodys.counts = row.counts;
  }
  nobodys.counts[running] =
      cpu.counters.last[running] - cpu.counters.first[running];
  AddSlices(dumps, set, nobodys.counts, cpu.unattributed.slices);
  for (std::size_t i = 0; i < dumps.measures(); ++i) {
    if (!(cpu.counters.turn >> i & 1u)) continue;
    cpu.counters.closed[i] += cpu.counters.last[i] - cpu.counters.first[i];
    cpu.counters.first[i] = cpu.counters.last[i];
  }
  cpu.counters.turn = 0;
  // All threads of a process make one slice of the process.
  std::vector<std::pair<ProcessState*, CounterValues>> processes;
  for (const TurnCounts& row : cpu.counters.in_turn) {
    if (row.account == &cpu.unattributed) continue;
    if (row.account != nullptr) {
      AddSlices(dumps, set, row.counts, row.account->slices);
      continue;
    }
    AddSlices(dumps, set, row.counts, row.thread->kernel.slices);
    ProcessState* const process = row.thread->process;
    if (process == nullptr) continue;
    auto sum = std::find_if(
        processes.begin(), processes.end(),
        [process](const auto& entry) { return entry.first == process; });
    if (sum == processes.end()) {
      processes.emplace_back(process, row.counts);
      continue;
    }
    for (std::size_t i = 0; i < dumps.measures(); ++i) {
      sum->second[i] += row.counts[i];
    }
  }
  for (const auto& [process, counts] : processes) {
    AddSlices(dumps, set, counts, process->slices);
  }
  cpu.counters.in_turn.clear();
}

void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const logformat::EventRecord& record) {
  const bool counted = (record.present & dumps.of_set(record.mmcr)) != 0;
  if (cpu.counters.turn != 0 &&
      (!counted || record.mmcr != cpu.counters.mmcr)) {
    EndTurn(cpu, dumps);
  }
  if (counted) cpu.counters.mmcr = record.mmcr;
}

}  // namespace countrace::rmap
