// Metrics as tables: text, JSON `countrace.metrics/1`, JSONL, CSV.
//
// In: an evaluator, and the rules and tables to show. Text shows metrics with
// values and names the others at the end; the other formats contain all
// metrics, with the reason where there is no value.
#ifndef COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_
#define COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_

#include <string>

#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/report/render_options.h"

namespace countrace::rmap::metrics {

// Uses format, max_rows, color and width of `options`.
std::string RenderMetrics(const MetricReport& metrics,
                          const RenderOptions& options);

// "2.573", "2.57 +- 0.012", "[2.1, 3]", "~2.57"; "-" if absent.
std::string FormatMetric(const MetricValue& value, const MetricUnit& unit);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_REPORT_H_
