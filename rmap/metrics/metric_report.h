// Metrics as tables: text, JSON `countrace.metrics/1`, JSONL, CSV.
//
// In: an evaluator and which of its rules and tables are wanted. Text shows
// only what has a value and names the rest below; the other formats hold
// everything, with the reason where there is no value.
#ifndef COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_
#define COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/quantities.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/report/report_render.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap::metrics {

struct MetricReport {
  const RuleSet* rules = nullptr;
  const Report* report = nullptr;
  Evaluator* evaluator = nullptr;
  std::vector<std::size_t> chosen;  // indexes of rules, in order of output
  ScopeSet scopes = kEveryScope;    // tables of the output
  const RowSelection* selection = nullptr;  // null: every row
};

// Indexes of the rows to show of a table; that of the trace has its one row
// whatever is selected.
std::vector<std::size_t> ShownRows(const MetricReport& metrics, Scope scope);
// False: a selection leaves the table out.
bool IsShown(const MetricReport& metrics, Scope scope);

// Uses format, max_rows, color and width of `options`.
std::string RenderMetrics(const MetricReport& metrics,
                          const RenderOptions& options);

// "2.573", "2.57 +- 0.012", "[2.1, 3]", "~2.57"; "-" if absent.
std::string FormatMetric(const MetricValue& value, const MetricUnit& unit);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_
