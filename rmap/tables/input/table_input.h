// The input of every table: the final state of reconstruction, and the events
// of the report.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_TABLE_INPUT_H_
#define COUNTRACE_RMAP_TABLES_INPUT_TABLE_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/levels/levels.h"
#include "rmap/result/tables.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/input/attribution.h"
#include "rmap/tables/input/probe_costs.h"
#include "rmap/tables/input/recording_cost.h"
#include "rmap/values/call_values.h"

namespace countrace::rmap {

struct TableSources {
  const logformat::TraceInfo& info;
  ThreadRegistry& registry;
  CallPaths& paths;
  const DispatchTracker& dispatches;
  const CounterExtension& counters;  // the counters of CPUs
  bool fault_records;
  bool kernel_dumps;  // kernel hooks may carry counters
  // Discards of an unknown process: calls of any segment may be missing.
  bool session_loss;
  bool interrupts;                 // were recorded
  std::uint64_t begin_ns, end_ns;  // of the tables
  WantedRows rows;
  bool of_range;             // of the trace
  const CallValues* values;  // null: no call has one
  const Levels* levels;      // null: the trace has none
};

struct TableInput {
  // Requires: every thread has a process (SettleProcesses()).
  TableInput(const TableSources& sources, std::vector<EventPlan> event_plans)
      : in(sources),
        plans(std::move(event_plans)),
        cost(sources.info, sources.registry),
        probes(sources.info, sources.dispatches.coverage().any,
               sources.registry),
        has_kernel(sources.dispatches.coverage().any) {
    for (const CpuState& cpu : in.dispatches.cpus()) {
      counted |= cpu.counters.counted | cpu.counters.counted_before;
    }
  }

  bool IsCounted(const EventPlan& plan) const {
    return plan.cpu_event && counted.Has(*plan.cpu_event);
  }

  // Values of a kernel dump, indexed like Report::events.
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
           in.dispatches.dumps().rotating().Has(*plan.cpu_event);
  }

  // Replaces multiplexed counts by estimates.
  template <typename Row>
  void Scale(const EventSlices& slices, std::uint64_t whole_ns,
             Row& row) const {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!Rotates(plans[i])) continue;
      row.scaled.resize(plans.size());
      const std::size_t event = *plans[i].cpu_event;
      row.scaled[i].reset();
      row.counts[i].reset();
      const SliceSums* const sums = slices.Find(event);
      if (sums == nullptr) continue;
      row.scaled[i] = sums->Estimate(whole_ns);
      if (row.scaled[i]) row.counts[i] = row.scaled[i]->value;
    }
    SetBetween(row.scaled);
  }

  // What is in none of the sets is between them.
  void SetBetween(ScaledCounts& scaled) const {
    std::map<std::size_t, std::uint64_t> running;
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (!scaled[i]) continue;
      const auto& sets = in.dispatches.dumps().sets();
      running[sets.SetOf(*plans[i].cpu_event).value_or(0)] = scaled[i]->running;
    }
    std::uint64_t sum = 0;
    for (const auto& [set, ns] : running) sum += ns;
    for (auto& each : scaled) {
      if (each) each->between = each->enabled - std::min(each->enabled, sum);
    }
  }

  const TableSources& in;
  std::vector<EventPlan> plans;  // one for each of Report::events
  RecordingCost cost;
  ProbeCosts probes;
  bool has_kernel;     // dispatch records exist
  MeasureSet counted;  // the events that any CPU counted
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_TABLE_INPUT_H_
