// Tables from the final state of reconstruction: rows, order, names, books.
//
// Runs once, after the last record. Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_REPORT_BUILDER_H_
#define COUNTRACE_RMAP_TABLES_REPORT_BUILDER_H_

#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/attribution.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

struct ReportSources {
  const logformat::TraceInfo& info;
  ThreadRegistry& registry;
  const DispatchTracker& dispatches;
  const CounterExtension& counters;  // of CPUs
  bool fault_records;
  bool kernel_dumps;  // kernel hooks may carry counters
  // Records of CPUs were lost, perhaps of kernel hooks.
  bool kernel_hooks_lost;
  // Discards of nobody known: any segment may miss calls.
  bool session_loss;
};

// Fills events, all rows and the books of `report`.
void BuildTables(const ReportSources& sources, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_REPORT_BUILDER_H_
