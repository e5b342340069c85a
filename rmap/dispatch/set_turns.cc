// Rotations of event sets on a CPU: EndTurn(), EndRounds() and FollowTurn() of
// interval_counts.h.
//
// Each set is counted in two rotations of a round (rotation_schedule.h),
// and what a row did in the two goes into its sums together (scaled_count.h).
#include "rmap/dispatch/interval_counts.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace countrace::rmap {
namespace {

void AddRow(const TurnCounts& row, TurnCounts& sum) {
  sum.running_ns += row.running_ns;
  for (std::size_t i = 0; i < row.counts.size(); ++i) {
    sum.counts[i] += row.counts[i];
    sum.unsplit_ns[i] += row.unsplit_ns[i];
  }
}

void AddSlices(const EventSetDumps& dumps, std::size_t set,
               const TurnCounts& row, EventSlices& sums,
               std::vector<RowSlice>& slices) {
  const std::size_t first = dumps.first_event(set);
  for (std::size_t i = 0; i < dumps.sets().sizes[set]; ++i) {
    slices.push_back({&sums,
                      first + i,
                      {row.running_ns - row.unsplit_ns[i], row.counts[i]}});
  }
}

// What each row did in the rotation that ends.
std::vector<RowSlice> SlicesOfTurn(const CpuCounters& counters,
                                   const EventSetDumps& dumps) {
  std::vector<RowSlice> slices;
  // All threads of a process make one slice of the process.
  std::vector<std::pair<ProcessState*, TurnCounts>> processes;
  for (const TurnCounts& row : counters.in_turn) {
    if (row.account != nullptr) {
      AddSlices(dumps, counters.mmcr, row, row.account->slices, slices);
      continue;
    }
    AddSlices(dumps, counters.mmcr, row, row.thread->kernel.slices, slices);
    ProcessState* const process = row.thread->process;
    if (process == nullptr) continue;
    auto sum = std::find_if(
        processes.begin(), processes.end(),
        [process](const auto& entry) { return entry.first == process; });
    if (sum == processes.end()) {
      processes.emplace_back(process, row);
      continue;
    }
    AddRow(row, sum->second);
  }
  for (auto& [process, sum] : processes) {
    AddSlices(dumps, counters.mmcr, sum, process->slices, slices);
  }
  return slices;
}

// Adds the slices of both rotations of a set in a round.
void AddRound(std::vector<RowSlice> slices, std::vector<RowSlice> others) {
  slices.insert(slices.end(), others.begin(), others.end());
  const auto key = [](const RowSlice& slice) {
    return std::tuple(slice.sums, slice.event);
  };
  std::stable_sort(
      slices.begin(), slices.end(),
      [&](const RowSlice& a, const RowSlice& b) { return key(a) < key(b); });
  for (auto at = slices.begin(); at != slices.end(); ++at) {
    SliceSums& sums = at->sums->At(at->event);
    const auto other = at + 1;
    if (other == slices.end() || key(*other) != key(*at)) {
      sums.Add(at->slice);
      continue;
    }
    sums.Add(at->slice, other->slice);
    at = other;
  }
}

}  // namespace

void EndTurn(CpuState& cpu, const EventSetDumps& dumps) {
  CpuCounters& counters = cpu.counters;
  if (counters.turn.empty()) return;
  counters.turn.ForEach([&](std::size_t i) {
    counters.closed[i] += counters.last[i] - counters.first[i];
    counters.first[i] = counters.last[i];
    cpu.unconfirmed.counts[i] = 0;  // they are in a slice
  });
  cpu.unconfirmed.unsplit_ns.fill(0);
  counters.turn = MeasureSet();
  std::vector<RowSlice> slices = SlicesOfTurn(counters, dumps);
  counters.in_turn.clear();
  auto& first = counters.first_of_round[counters.mmcr];
  if (!first) {
    first = std::move(slices);
    return;
  }
  AddRound(*std::exchange(first, std::nullopt), std::move(slices));
}

void EndRounds(CpuState& cpu, const EventSetDumps& dumps) {
  EndTurn(cpu, dumps);
  for (auto& first : cpu.counters.first_of_round) {
    if (first) AddRound(*std::exchange(first, std::nullopt), {});
  }
}

void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const MeasuredDump& dump) {
  const std::uint32_t mmcr = dump.record.mmcr;
  const bool counted = dump.record.counters != nullptr &&
                       dump.present != nullptr &&
                       dump.present->Intersects(dumps.of_set(mmcr));
  if (!cpu.counters.turn.empty() && (!counted || mmcr != cpu.counters.mmcr)) {
    EndTurn(cpu, dumps);
  }
  if (!counted) return;
  cpu.counters.mmcr = mmcr;
  cpu.counters.running = dumps.running_of(mmcr);
  cpu.counters.first_event = dumps.first_event(mmcr);
}

}  // namespace countrace::rmap
