// Which events a report has: known before a record is read.
#ifndef COUNTRACE_RMAP_TABLES_REPORT_EVENTS_H_
#define COUNTRACE_RMAP_TABLES_REPORT_EVENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"
#include "rmap/state/gate.h"
#include "rmap/tables/attribution.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

// Fills in events and scaled_events: those of the trace that `gate` counts.
// Returns one plan for each.
std::vector<EventPlan> FillEvents(const logformat::TraceInfo& info,
                                  const Gate& gate, Report& report);

// A report without rows whose tables have the columns that Reconstruct() will
// give them. Errors: as CheckRequest().
absl::StatusOr<Report> EmptyReport(const logformat::TraceInfo& info,
                                   const GatingRequest& gating);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_REPORT_EVENTS_H_
