#include "rmap/diff/row_amounts.h"

#include <algorithm>
#include <limits>
#include <string>

#include "rmap/diff/row_bounds.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

constexpr double kAnything = std::numeric_limits<double>::infinity();

// Infinite ends stay infinite; the value itself is finite.
void Bound(const std::optional<Interval>& bounds, Quantity& quantity) {
  if (!bounds) return;
  quantity.below = std::max(0.0, quantity.Signed() - bounds->low);
  quantity.above = std::max(0.0, bounds->high - quantity.Signed());
}

template <typename Row>
void Bound(const Report& report, const Row& row, const std::string& self,
           const std::string& incl, Amount& amount) {
  Bound(BoundsOf(report, row, self), amount.self);
  Bound(BoundsOf(report, row, incl), amount.incl);
}

Amount Exact(std::uint64_t self, std::uint64_t incl, Quality quality) {
  Amount amount;
  amount.self.value = self;
  amount.incl.value = incl;
  amount.quality = quality;
  return amount;
}

std::optional<Amount> CountOf(const Report& report, const Metric& metric,
                              const SegmentRow& row) {
  const auto index = EventIndex(report.events, metric.name);
  if (!index || *index >= row.counts.size() || !row.counts[*index]) {
    return std::nullopt;
  }
  const SegmentCount& count = *row.counts[*index];
  Amount amount = Exact(count.excl, count.incl, count.quality);
  if (!count.estimate) return amount;
  const SegmentEstimate& estimate = *count.estimate;
  // The event was counted in all calls.
  const bool whole = estimate.counted == count.incl && count.incl != 0;
  if (!whole) {
    amount.incl.error =
        SamplingError::Of(estimate.standard_error, InclusiveOf(count).freedom);
  }
  if (!whole || estimate.excl_standard_error != 0.0) {
    amount.self.error = SamplingError::Of(estimate.excl_standard_error,
                                          ExclusiveOf(count).freedom);
  }
  return amount;
}

std::optional<Amount> WithoutBounds(const Report& report, const Metric& metric,
                                    const SegmentRow& row) {
  switch (metric.kind) {
    case MetricKind::kWall:
      return Exact(row.wall.excl, row.wall.incl, row.quality);
    case MetricKind::kOnCpu:
    case MetricKind::kOffCpu: {
      const auto& pair =
          metric.kind == MetricKind::kOnCpu ? row.on_cpu : row.off_cpu;
      if (!row.on_cpu || !pair) return std::nullopt;
      return Exact(pair->excl, pair->incl, row.on_cpu_quality);
    }
    case MetricKind::kEvent:
      break;
  }
  return CountOf(report, metric, row);
}

// For an event that CPUs multiplexed: one estimate for all processes.
std::optional<Amount> EstimatedTotal(const Report& report,
                                     const Metric& metric) {
  if (metric.kind != MetricKind::kEvent) return std::nullopt;
  const auto index = EventIndex(report.events, metric.name);
  if (!index || *index >= report.books.size()) return std::nullopt;
  const auto& scaled = report.books[*index].scaled;
  if (!scaled || !scaled->tasks) return std::nullopt;
  Amount total =
      Exact(scaled->tasks->value, scaled->tasks->value, Quality::kScaled);
  total.self.error =
      SamplingError::Of(scaled->tasks->standard_error, scaled->tasks->freedom);
  if (std::any_of(report.processes.begin(), report.processes.end(),
                  [](const ProcessRow& row) {
                    return row.quality == Quality::kBounded;
                  })) {
    total.quality = Quality::kBounded;
    total.self.above = kAnything;
  }
  total.incl = total.self;
  return total;
}

// For an event that threads multiplexed at their hooks: the outermost segments,
// whose estimates include the inner ones.
Amount OutermostSegments(const Report& report, const Metric& metric) {
  Amount total;
  for (const SegmentRow& row : report.segment_paths) {
    if (IsInterrupt(row) || row.path.size() != 1) continue;
    if (const auto amount = AmountOf(report, metric, row)) total.Add(*amount);
  }
  total.self = total.incl;
  return total;
}

}  // namespace

void Quantity::Add(const Quantity& other) {
  value += other.value;
  below += other.below;
  above += other.above;
  error.Add(other.error);
}

void Amount::Add(const Amount& other) {
  self.Add(other.self);
  incl.Add(other.incl);
  quality = Worse(quality, other.quality);
}

void Amount::Limit(double most) {
  for (Quantity* quantity : {&self, &incl}) {
    quantity->below = std::min(quantity->below, most);
    quantity->above = std::min(quantity->above, most);
  }
}

bool IsInterrupt(const SegmentRow& row) { return row.pid == 0; }

Quantity CallsOfRow(const Report& report, const SegmentRow& row) {
  Quantity calls;
  calls.value = row.calls;
  Bound(BoundsOf(report, row, "calls"), calls);
  return calls;
}

std::optional<Amount> AmountOf(const Report& report, const Metric& metric,
                               const SegmentRow& row) {
  auto amount = WithoutBounds(report, metric, row);
  if (!amount) return std::nullopt;
  const std::string name = metric.JsonName();
  Bound(report, row, name + ".excl", name + ".incl", *amount);
  return amount;
}

// Absent: processes have no such amounts in this trace. An unknown amount of
// one process among others is missing, not unknown: the books contain it.
std::optional<Amount> AmountOf(const Report& report, const Metric& metric,
                               const ProcessRow& row) {
  std::optional<std::uint64_t> value;
  if (metric.kind == MetricKind::kOnCpu) {
    if (report.cpu_rows.empty()) return std::nullopt;
    value = row.on_cpu_ns;
  } else if (metric.kind == MetricKind::kEvent) {
    const auto index = EventIndex(report.events, metric.name);
    if (!index || *index >= report.books.size() ||
        !report.books[*index].known) {
      return std::nullopt;
    }
    if (*index < row.counts.size()) value = row.counts[*index];
    if (!value && row.on_cpu_ns == 0u) value = 0;
  } else {
    return std::nullopt;
  }
  Amount amount = Exact(value.value_or(0), value.value_or(0), row.quality);
  if (!value) amount.quality = Quality::kBounded;
  if (metric.kind == MetricKind::kEvent) {
    const std::size_t index = *EventIndex(report.events, metric.name);
    if (index < row.scaled.size() && row.scaled[index]) {
      const ScaledCount& count = *row.scaled[index];
      amount.quality = Worse(amount.quality, Quality::kScaled);
      if (count.running < count.enabled) {
        amount.self.error =
            SamplingError::Of(count.standard_error, count.freedom);
        amount.incl.error = amount.self.error;
      }
    }
  }
  const std::string name = metric.JsonName();
  Bound(report, row, name, name, amount);
  return amount;
}

std::optional<Amount> ProcessTotal(const Report& report, const Metric& metric) {
  std::optional<Amount> sum;
  const auto add = [&sum](const std::optional<Amount>& amount) {
    if (!amount) return;
    if (!sum) sum = Amount();
    sum->Add(*amount);
  };
  if (const auto total = EstimatedTotal(report, metric)) return total;
  for (const ProcessRow& process : report.processes) {
    add(AmountOf(report, metric, process));
  }
  if (sum) {
    // Together they lack no more than the books do. A process that is outside
    // has no row.
    const double most = MostMissing(report, metric);
    sum->self.above =
        IsOutsideUnsure(report) ? most : std::min(sum->self.above, most);
    return sum;
  }
  for (const SegmentRow& row : report.segment_paths) {
    if (!IsInterrupt(row)) add(AmountOf(report, metric, row));
  }
  if (!sum) return sum;
  if (MayLackThreads(report)) sum->self.above = kAnything;
  if (sum->self.error.any()) return OutermostSegments(report, metric);
  sum->incl = sum->self;
  return sum;
}

std::uint64_t SumOfSegments(const Report& report, const Metric& metric) {
  std::uint64_t sum = 0;
  for (const SegmentRow& row : report.segment_paths) {
    if (IsInterrupt(row)) continue;
    if (const auto amount = AmountOf(report, metric, row)) {
      sum += amount->self.value;
    }
  }
  return sum;
}

}  // namespace countrace::rmap::diff
