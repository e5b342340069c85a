#include "rmap/diff/row_bounds.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace countrace::rmap::diff {

namespace {

constexpr double kAnything = std::numeric_limits<double>::infinity();
constexpr Interval kNoBound = {-kAnything, kAnything};

double MissingTime(const Report& report) {
  const bool outside = IsOutsideUnsure(report);
  double sum = 0;
  for (const CpuRow& row : report.cpu_rows) {
    sum += static_cast<double>(row.unattributed_ns);
    if (outside) sum += static_cast<double>(row.outside_ns);
  }
  return sum;
}

double MissingCount(const Report& report, std::size_t event) {
  if (event >= report.books.size() || !report.books[event].known ||
      report.books[event].doubt.any()) {
    return kAnything;
  }
  // The unattributed count in the set's rotations says little about the time
  // between them.
  if (report.books[event].scaled) return kAnything;
  const Books& books = report.books[event];
  return static_cast<double>(books.unattributed +
                             (IsOutsideUnsure(report) ? books.outside : 0));
}

// The event of "counts.EVENT" or of "counts.EVENT.excl".
std::optional<std::size_t> EventOf(const Report& report,
                                   const std::string& name) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string counts = "counts." + report.events[i].name;
    if (name == counts || name == counts + ".excl" ||
        name == counts + ".incl") {
      return i;
    }
  }
  return std::nullopt;
}

bool IsEstimate(const ProcessRow& row, std::size_t event) {
  return event < row.scaled.size() && row.scaled[event].has_value();
}
bool IsEstimate(const SegmentRow& row, std::size_t event) {
  return event < row.counts.size() && row.counts[event] &&
         row.counts[event]->estimate.has_value();
}

template <typename Row>
std::optional<Interval> BoundsIn(const Report& report, const Row& row,
                                 const std::string& name) {
  const auto number = NumberNamed(report.events, name);
  if (!number) return std::nullopt;
  const std::optional<Bounds> bounds = row.bounds.Of(*number);
  if (!bounds) return std::nullopt;
  const double hi =
      bounds->hi == Bounds::kNone ? kAnything : static_cast<double>(bounds->hi);
  if (const auto event = EventOf(report, name);
      event && IsEstimate(row, *event)) {
    // The interval of an estimate is its error, but for what may be missing.
    return bounds->hi == Bounds::kNone ? std::optional(kNoBound) : std::nullopt;
  }
  return Interval{static_cast<double>(bounds->lo), hi};
}

}  // namespace

std::optional<Interval> BoundsOf(const Report& report, const SegmentRow& row,
                                 const std::string& name) {
  return BoundsIn(report, row, name);
}

std::optional<Interval> BoundsOf(const Report& report, const ProcessRow& row,
                                 const std::string& name) {
  return BoundsIn(report, row, name);
}

bool IsOutsideUnsure(const Report& report) {
  return std::any_of(report.cpu_rows.begin(), report.cpu_rows.end(),
                     [](const CpuRow& row) {
                       const auto bounds = row.bounds.Of(Number::kOutside);
                       return bounds && bounds->lo < row.outside_ns;
                     });
}

bool MayLackThreads(const Report& report) {
  return std::any_of(report.processes.begin(), report.processes.end(),
                     [](const ProcessRow& row) {
                       const auto bounds = row.bounds.Of(Number::kThreads);
                       return bounds && bounds->hi > row.threads;
                     });
}

double MostMissing(const Report& report, const Metric& metric) {
  if (metric.kind != MetricKind::kEvent) return MissingTime(report);
  const auto event = EventIndex(report.events, metric.name);
  return event ? MissingCount(report, *event) : kAnything;
}

}  // namespace countrace::rmap::diff
