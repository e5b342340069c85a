// The rules, tables and rows of metrics to show, and the columns that identify
// a metric's row.
#ifndef COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_
#define COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rmap/columns/report_by.h"
#include "rmap/columns/row_selection.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/quantities.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::metrics {

struct MetricReport {
  const RuleSet* rules = nullptr;
  const Report* report = nullptr;
  Evaluator* evaluator = nullptr;
  std::vector<std::size_t> chosen;  // indexes of rules, in order of output
  ScopeSet scopes = kEveryScope;    // tables of the output
  const RowSelection* selection = nullptr;  // null: every row
};

// Indexes of the rows of a table to show. The trace has one row, with any
// selection.
std::vector<std::size_t> ShownRows(const MetricReport& metrics, Scope scope);
// False: a selection leaves the table out.
bool IsShown(const MetricReport& metrics, Scope scope);

struct RowKey {
  std::string name;  // "pid", "segment", ...
  std::variant<std::int64_t, std::string, std::vector<std::string>> value;
};

// The same names for each row of a table; none for the trace.
// Requires: the table has this row.
std::vector<RowKey> KeysOf(const Report& report, Scope scope, std::size_t row);

// The report's table with these rows; kDefault for the trace.
ReportBy TableOf(Scope scope);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_
