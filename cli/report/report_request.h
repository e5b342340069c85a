// The request of `countrace report`, and its answer:
//
//   report_verb -> ReportRequest -> ReportTables, ReportMetrics or
//     ReportOverTime -> ReportAnswer -> report_verb
#ifndef COUNTRACE_CLI_REPORT_REPORT_REQUEST_H_
#define COUNTRACE_CLI_REPORT_REPORT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/instant.h"
#include "cli/program/metric_options.h"
#include "cli/report/report_source.h"
#include "cli/trace/trace_input.h"
#include "rmap/columns/row_selection.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/where/row_owners.h"
#include "rmap/where/where_expression.h"

namespace countrace::cli {

struct ReportRequest {
  TraceInput* input = nullptr;  // not null
  std::string trace;
  std::vector<GivenHost> hosts;  // instead of `trace`; none: not given
  std::string pairs;             // of --pairs
  rmap::GatingRequest gating;
  rmap::WantedRows rows;
  rmap::where::WhereExpression where;  // no steps: of all rows
  std::string sort;                    // a field; empty: the usual order
  std::string group_by;                // as given
  // The field whose rows are added up; empty: they are as read.
  std::string rows_by;
  RangeOptions range;
  rmap::RenderOptions render;  // its selection follows from both

  // --metrics
  MetricChoice metrics;
  rmap::metrics::RuleSet rules;  // names are not checked yet

  // --by time, --by phase
  std::uint64_t every_ns = 0;  // 0: chosen by the trace's length
  std::string segment;         // also with --given

  rmap::where::WhereExpression given;  // --given; no steps: not given

  // Whose rows, also of samples: globs; empty: not given.
  std::string process, thread;
  rmap::where::OwnerGlobs owners() const { return {process, thread}; }
  // True: not all rows.
  bool selects() const { return !where.steps.empty() || owners().given(); }
};

struct ReportAnswer {
  std::string text;
  bool has_loss = false;
  bool periods_disagree = false;  // of sampled events (report_samples.h)
  bool interrupted = false;  // Ctrl-C: `text` covers the records until then
  std::uint64_t records = 0;
};

ReportAnswer AnswerOf(const rmap::Report& report, std::string text);

// Which events of an imported listing were counted a part of the time, and
// scaled up by the tool.
std::vector<std::string> ScaledCounts(const rmap::Report& report);

// The rows from which tables and metrics are made.
struct RequestedRows {
  rmap::Report report;
  std::optional<rmap::RowSelection> selection;
};

// The trace of the request, or those of its hosts. Errors: as ReportSource's.
absl::StatusOr<ReportSource> SourceOf(const ReportRequest& request,
                                      TimesUse times = TimesUse::kNeeded);

// The tables and columns of the answer, without rows.
absl::StatusOr<rmap::Report> SchemaOf(const ReportRequest& request,
                                      const ReportSource& source);

// Reads all of `source`. `table` is the one that the request must fit.
// Errors: of the reader; wrong usage for rows or a `range` that do not fit.
absl::StatusOr<RequestedRows> ReadRows(const ReportRequest& request,
                                       rmap::ReportBy table,
                                       ReportSource& source);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_REQUEST_H_
