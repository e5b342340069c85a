#include "rmap/dispatch/recorded_instants.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace countrace::rmap {

RecordedInstants::RecordedInstants(std::vector<CounterKind> kinds)
    : kinds_(std::move(kinds)) {}

RecordedInstants::Cpu& RecordedInstants::Of(std::uint32_t cpu) {
  if (cpu >= cpus_.size()) cpus_.resize(cpu + std::size_t{1});
  return cpus_[cpu];
}

void RecordedInstants::OnFault(const FaultHit& fault) {
  Of(fault.cpu).faults.push_back(fault);
}

void RecordedInstants::OnDispatch(const DispatchSpan& dispatch) {
  std::vector<std::uint64_t>& switches = Of(dispatch.cpu).switches;
  // After an end that was not recorded, the next count may be of any switch.
  if (dispatch.end_inferred) switches.clear();
  if (!dispatch.end_inferred) switches.push_back(dispatch.end_ns);
}

void RecordedInstants::OnCounters(const CounterDump& dump) {
  Cpu& cpu = Of(dump.cpu);
  cpu.faults.clear();
  std::erase_if(cpu.switches,
                [&](std::uint64_t time_ns) { return time_ns < dump.time_ns; });
}

std::vector<std::uint64_t> RecordedInstants::Take(
    const AttributedCount& attributed) {
  if (attributed.event >= kinds_.size() ||
      attributed.account == Account::kUnattributed) {
    return {};
  }
  Cpu& cpu = Of(attributed.cpu);
  switch (kinds_[attributed.event]) {
    case CounterKind::kFaults:
    case CounterKind::kFaultsOfMode:
      return TakeFaults(cpu.faults, attributed);
    case CounterKind::kSwitches:
      return TakeSwitch(cpu.switches, attributed);
    default:
      return {};
  }
}

std::vector<std::uint64_t> RecordedInstants::TakeFaults(
    std::vector<FaultHit>& faults, const AttributedCount& attributed) {
  std::vector<std::uint64_t> instants;
  std::erase_if(faults, [&](const FaultHit& fault) {
    const bool is_of =
        fault.thread == attributed.thread && fault.time_ns <= attributed.end_ns;
    if (is_of) instants.push_back(fault.time_ns);
    return is_of;
  });
  if (instants.size() != attributed.count) instants.clear();
  return instants;
}

// The kernel counts a switch after the dump of its record, so the first count
// of a dispatch is that of the switch with which it began.
std::vector<std::uint64_t> RecordedInstants::TakeSwitch(
    std::vector<std::uint64_t>& switches, const AttributedCount& attributed) {
  const auto after = std::find_if(
      switches.begin(), switches.end(),
      [&](std::uint64_t time_ns) { return time_ns > attributed.begin_ns; });
  if (after == switches.begin()) return {};
  const std::uint64_t time_ns = *(after - 1);
  switches.erase(switches.begin(), after);
  if (attributed.count != 1) return {};
  return {time_ns};
}

}  // namespace countrace::rmap
