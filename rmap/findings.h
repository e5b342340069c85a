// What limits the report besides losses: switches that were not shown, doubtful
// counters, malformed records, calls that were folded.
//
// In: the state after the last record. Out: messages. Thread: one.
#ifndef COUNTRACE_RMAP_FINDINGS_H_
#define COUNTRACE_RMAP_FINDINGS_H_

#include <cstdint>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/counters/counter_extension.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/result/tables.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_registry.h"
#include "rmap/tables/input/loss_ledger.h"

namespace countrace::rmap {

struct FindingSources {
  const logformat::TraceInfo& info;
  ThreadRegistry& registry;
  const DispatchTracker& dispatches;
  const CounterExtension& cpu_counters;
  const CounterExtension& thread_counters;
  const SegmentBuilder& segments;
  const CallPaths& paths;
  std::uint64_t malformed;  // kernel records, without those of `dispatches`
};

void AddFindings(const FindingSources& in, LossLedger& ledger);
// Adds processes of which probes took a large part.
void AddProbeFindings(const std::vector<ProcessRow>& processes,
                      LossLedger& ledger);
// Adds CPUs whose end is not in the trace. Requires: it was read to its end.
void AddCutCpus(const DispatchTracker& dispatches, LossLedger& ledger);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_FINDINGS_H_
