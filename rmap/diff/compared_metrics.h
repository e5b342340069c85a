// The metrics of a comparison: those that all traces of both sides have.
// Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_COMPARED_METRICS_H_
#define COUNTRACE_RMAP_DIFF_COMPARED_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap::diff {

// Additive over rows. calls is not among them: it is not exclusive.
enum class MetricKind : std::uint8_t { kWall, kOnCpu, kOffCpu, kEvent };

struct Metric {
  std::string name;  // "wall", "on-CPU", "off-CPU", or the event's
  MetricKind kind = MetricKind::kEvent;
  bool is_time = false;  // ns; else a count

  // In the JSON of a row: "on_cpu_ns", "counts.page-faults".
  std::string JsonName() const;
};

// In the order of the output.
struct ComparedMetrics {
  std::vector<Metric> metrics;
  std::vector<std::string> left_out;   // events that only some traces have
  std::vector<std::string> estimated;  // events that some traces multiplexed
};
ComparedMetrics FindComparedMetrics(const std::vector<const Report*>& reports);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_COMPARED_METRICS_H_
