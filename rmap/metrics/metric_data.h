// Metrics for programs: the complete renderings behind RenderMetrics().
#ifndef COUNTRACE_RMAP_METRICS_METRIC_DATA_H_
#define COUNTRACE_RMAP_METRICS_METRIC_DATA_H_

#include <string>

#include "rmap/metrics/metric_rows.h"

namespace countrace::rmap::metrics {

// The row's keys as one text: "pid=7 comm=x".
std::string RowName(const Report& report, Scope scope, std::size_t row);
// `countrace.metrics/1`: trace, rules, tables, statistics.
std::string RenderMetricsJson(const MetricReport& metrics);
// The same, one object a line, "table" first.
std::string RenderMetricsJsonLines(const MetricReport& metrics);
// RFC 4180: one line for each table, row and metric.
std::string RenderMetricsCsv(const MetricReport& metrics);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_DATA_H_
