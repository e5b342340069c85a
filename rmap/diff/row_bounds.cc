#include "rmap/diff/row_bounds.h"

#include <cstdint>
#include <limits>

namespace countrace::rmap::diff {

namespace {

constexpr double kAnything = std::numeric_limits<double>::infinity();
constexpr Interval kNoBound = {-kAnything, kAnything};

bool IsOf(const std::string& name, const std::string& metric) {
  return name.compare(0, metric.size(), metric) == 0;
}

bool IsExclusive(const std::string& name) {
  return name.size() > 5 && name.compare(name.size() - 5, 5, ".excl") == 0;
}

double Signed(std::uint64_t value) {
  return static_cast<double>(static_cast<std::int64_t>(value));
}

// A number lacks at most `above`, and is at most `below` too large (by inner
// segments, whose own numbers were too low).
Interval Around(std::uint64_t value, double below, double above) {
  return {Signed(value) - below, Signed(value) + above};
}

double Excess(std::uint64_t whole, std::uint64_t part) {
  return whole > part ? static_cast<double>(whole - part) : 0;
}

double UnattributedTime(const Report& report) {
  double sum = 0;
  for (const CpuRow& row : report.cpu_rows) {
    sum += static_cast<double>(row.unattributed_ns);
  }
  return sum;
}

double UnattributedCount(const Report& report, std::size_t event) {
  if (event >= report.books.size() || !report.books[event].known ||
      report.books[event].doubt.any()) {
    return kAnything;
  }
  // The unattributed count in the set's rotations says little about the time
  // between them.
  if (report.books[event].scaled) return kAnything;
  return static_cast<double>(report.books[event].unattributed);
}

// The event of "counts.EVENT" or of "counts.EVENT.excl".
std::optional<std::size_t> EventOf(const Report& report,
                                   const std::string& name) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string counts = "counts." + report.events[i];
    if (name == counts || name == counts + ".excl" ||
        name == counts + ".incl") {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<Interval> BoundsOfCalls(const Report& report,
                                      const SegmentRow& row) {
  if (row.quality != Quality::kBounded) return std::nullopt;
  // Each lost record may have been an enter.
  return Around(row.calls, 0,
                report.loss.discarded_packets != 0
                    ? kAnything
                    : static_cast<double>(report.loss.discarded_events));
}

}  // namespace

std::optional<Interval> BoundsOf(const Report& report, const SegmentRow& row,
                                 const std::string& name) {
  // Hook records are missing, and so may be any part of the times.
  const bool lossy = row.quality == Quality::kBounded;
  if (name == "calls") return BoundsOfCalls(report, row);
  if (IsOf(name, "wall_ns")) {
    return lossy ? std::optional(kNoBound) : std::nullopt;
  }
  const bool on = IsOf(name, "on_cpu_ns");
  if (on || IsOf(name, "off_cpu_ns")) {
    const auto& pair = on ? row.on_cpu : row.off_cpu;
    if (!pair || !row.on_cpu || row.on_cpu_quality != Quality::kBounded) {
      return std::nullopt;
    }
    const double missing = lossy ? kAnything : UnattributedTime(report);
    // Its on-CPU time is at most its wall time.
    const double more = Excess(row.wall.excl, row.on_cpu->excl) + missing;
    return Around(IsExclusive(name) ? pair->excl : pair->incl,
                  on ? missing : more, on ? more : missing);
  }
  const auto event = EventOf(report, name);
  if (!event || *event >= row.counts.size() || !row.counts[*event]) {
    return std::nullopt;
  }
  const SegmentCount& count = *row.counts[*event];
  if (count.quality != Quality::kBounded) return std::nullopt;
  // A bounded estimate lacks the calls that the end of a rotation cut.
  const double missing =
      lossy || count.scaled ? kAnything : UnattributedCount(report, *event);
  return Around(IsExclusive(name) ? count.excl : count.incl, missing, missing);
}

std::optional<Interval> BoundsOf(const Report& report, const ProcessRow& row,
                                 const std::string& name) {
  const auto event = EventOf(report, name);
  std::uint64_t value = row.on_cpu_ns.value_or(0);
  bool bounded = row.quality == Quality::kBounded || !row.on_cpu_ns;
  if (event) {
    const bool counted = *event < row.counts.size() && row.counts[*event];
    value = counted ? *row.counts[*event] : 0;
    // A process that did not run counted nothing.
    bounded =
        row.quality == Quality::kBounded || (!counted && row.on_cpu_ns != 0u);
  }
  if (!bounded) return std::nullopt;
  return Around(
      value, 0,
      event ? UnattributedCount(report, *event) : UnattributedTime(report));
}

double Unattributed(const Report& report, const Metric& metric) {
  if (metric.kind != MetricKind::kEvent) return UnattributedTime(report);
  const auto event = EventIndex(report, metric.name);
  return event ? UnattributedCount(report, *event) : kAnything;
}

}  // namespace countrace::rmap::diff
