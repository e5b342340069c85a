// What every table is made from: the final state of reconstruction, and which
// events the report has.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_TABLE_INPUT_H_
#define COUNTRACE_RMAP_TABLES_TABLE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/attribution.h"
#include "rmap/tables/recording_cost.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

struct TableSources {
  const logformat::TraceInfo& info;
  ThreadRegistry& registry;
  const DispatchTracker& dispatches;
  const CounterExtension& counters;  // of CPUs
  bool fault_records;
  bool kernel_dumps;  // kernel hooks may carry counters
  // Records of CPUs were lost, perhaps of kernel hooks.
  bool kernel_hooks_lost;
  // Discards that belong to no known process: any segment may miss calls.
  bool session_loss;
};

struct TableInput {
  // Requires: processes are settled.
  TableInput(const TableSources& sources, std::vector<EventPlan> event_plans)
      : in(sources),
        plans(std::move(event_plans)),
        cost(sources.info, sources.registry),
        has_kernel(sources.dispatches.coverage().any) {
    for (const CpuState& cpu : in.dispatches.cpus()) {
      counted |= cpu.counters.counted | cpu.counters.counted_before;
    }
  }

  bool IsCounted(const EventPlan& plan) const {
    return plan.cpu_event && (counted >> *plan.cpu_event & 1u);
  }

  // Values of a kernel dump indexed as Report::events.
  template <typename Values>
  Counts ToCounts(const Values& values) const {
    Counts counts(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (IsCounted(plans[i])) counts[i] = values[*plans[i].cpu_event];
    }
    return counts;
  }

  bool Rotates(const EventPlan& plan) const {
    return plan.cpu_event &&
           (in.dispatches.dumps().rotating() >> *plan.cpu_event & 1u);
  }

  // Puts estimates in the place of what was counted in turns.
  template <typename Row>
  void Scale(const std::vector<SliceSums>& slices, std::uint64_t whole_ns,
             Row& row) const {
    row.scaled.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!Rotates(plans[i])) continue;
      const std::size_t event = *plans[i].cpu_event;
      row.scaled[i].reset();
      row.counts[i].reset();
      if (event >= slices.size()) continue;
      row.scaled[i] = slices[event].Estimate(whole_ns);
      if (row.scaled[i]) row.counts[i] = row.scaled[i]->value;
    }
  }

  const TableSources& in;
  std::vector<EventPlan> plans;  // as Report::events
  RecordingCost cost;
  bool has_kernel;            // there are dispatch records
  std::uint32_t counted = 0;  // bits of the events that any CPU counted
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_TABLE_INPUT_H_
