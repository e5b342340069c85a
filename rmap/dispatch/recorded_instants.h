// When the counts of an interval happened, where each of them has a record:
// page faults, and the switch with which a dispatch begins.
//
// In: the observer's calls, in their order. Thread: one.
#ifndef COUNTRACE_RMAP_DISPATCH_RECORDED_INSTANTS_H_
#define COUNTRACE_RMAP_DISPATCH_RECORDED_INSTANTS_H_

#include <cstdint>
#include <vector>

#include "rmap/dispatch/interval_counts.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

class RecordedInstants {
 public:
  // `kinds`: of the trace's events.
  explicit RecordedInstants(std::vector<CounterKind> kinds);

  void OnFault(const FaultHit& fault);
  void OnDispatch(const DispatchSpan& dispatch);
  void OnCounters(const CounterDump& dump);
  // One instant for each count; empty if not every count has a record. Call it
  // once for each OnCounts().
  std::vector<std::uint64_t> Take(const AttributedCount& attributed);

 private:
  // Records whose count has not come yet: since the last dump of the CPU, and
  // the switch at that dump.
  struct Cpu {
    std::vector<FaultHit> faults;
    std::vector<std::uint64_t> switches;
  };
  Cpu& Of(std::uint32_t cpu);
  static std::vector<std::uint64_t> TakeFaults(
      std::vector<FaultHit>& faults, const AttributedCount& attributed);
  static std::vector<std::uint64_t> TakeSwitch(
      std::vector<std::uint64_t>& switches, const AttributedCount& attributed);

  std::vector<CounterKind> kinds_;
  std::vector<Cpu> cpus_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_RECORDED_INSTANTS_H_
