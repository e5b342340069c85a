// The columns that say which row a metric belongs to.
#ifndef COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_
#define COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rmap/metrics/quantities.h"
#include "rmap/report/report_render.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap::metrics {

struct RowKey {
  std::string name;  // "pid", "segment", ...
  std::variant<std::int64_t, std::string, std::vector<std::string>> value;
};

// The same names for each row of a table; none for the trace.
// Requires: row is one of the table.
std::vector<RowKey> KeysOf(const Report& report, Scope scope, std::size_t row);

// The table of the report that has these rows; kDefault for the trace.
ReportBy TableOf(Scope scope);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_METRIC_ROWS_H_
