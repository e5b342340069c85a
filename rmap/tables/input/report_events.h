// The events of a report, fixed before the first record is read.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_REPORT_EVENTS_H_
#define COUNTRACE_RMAP_TABLES_INPUT_REPORT_EVENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/state/gate.h"
#include "rmap/tables/input/attribution.h"

namespace countrace::rmap {

// Sets the event columns: the trace's events that `gate` counts.
// Returns one plan for each.
std::vector<EventPlan> FillEvents(const logformat::TraceInfo& info,
                                  const Gate& gate, Report& report);

// A report without rows; its tables have the columns that Reconstruct() makes.
// Errors: those of CheckRequest().
absl::StatusOr<Report> EmptyReport(const logformat::TraceInfo& info,
                                   const GatingRequest& gating);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_REPORT_EVENTS_H_
