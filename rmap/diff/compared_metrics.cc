#include "rmap/diff/compared_metrics.h"

#include <algorithm>

#include "rmap/columns/report_columns.h"

namespace countrace::rmap::diff {

std::string Metric::JsonName() const {
  switch (kind) {
    case MetricKind::kWall:
      return "wall_ns";
    case MetricKind::kOnCpu:
      return "on_cpu_ns";
    case MetricKind::kOffCpu:
      return "off_cpu_ns";
    case MetricKind::kEvent:
      break;
  }
  return "counts." + name;
}

ComparedMetrics FindComparedMetrics(const std::vector<const Report*>& reports) {
  ComparedMetrics compared;
  compared.metrics.push_back({"wall", MetricKind::kWall, true});
  const bool kernel = std::all_of(
      reports.begin(), reports.end(),
      [](const Report* report) { return !report->cpu_rows.empty(); });
  if (kernel) {
    compared.metrics.push_back({"on-CPU", MetricKind::kOnCpu, true});
    compared.metrics.push_back({"off-CPU", MetricKind::kOffCpu, true});
  }
  for (const Report* report : reports) {
    for (const EventColumn& column : report->events) {
      const std::string& event = column.name;
      // task-clock and cpu-clock of a thread are its on-CPU time, which is a
      // metric already.
      if (kernel && UnitOfEvent(event) == Unit::kNanoseconds) continue;
      const auto is_it = [&](const Metric& metric) {
        return metric.name == event;
      };
      auto& out = compared.left_out;
      if (std::any_of(compared.metrics.begin(), compared.metrics.end(),
                      is_it) ||
          std::find(out.begin(), out.end(), event) != out.end()) {
        continue;
      }
      if (std::all_of(reports.begin(), reports.end(), [&](const Report* r) {
            return EventIndex(r->events, event).has_value();
          })) {
        compared.metrics.push_back({event, MetricKind::kEvent,
                                    UnitOfEvent(event) == Unit::kNanoseconds});
        if (std::any_of(reports.begin(), reports.end(), [&](const Report* r) {
              return r->events[*EventIndex(r->events, event)].scaled;
            })) {
          compared.estimated.push_back(event);
        }
      } else {
        out.push_back(event);
      }
    }
  }
  return compared;
}

}  // namespace countrace::rmap::diff
