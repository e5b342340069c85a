#include "rmap/diff/aligned_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "rmap/columns/report_columns.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

constexpr double kAnything = std::numeric_limits<double>::infinity();

std::optional<std::size_t> EventIndex(const Report& report,
                                      const std::string& event) {
  const auto found =
      std::find(report.events.begin(), report.events.end(), event);
  if (found == report.events.end()) return std::nullopt;
  return static_cast<std::size_t>(found - report.events.begin());
}

bool IsEstimated(const Report& report, std::size_t event) {
  return event < report.scaled_events.size() && report.scaled_events[event];
}

// Interrupts are segments of a CPU, without a process row.
bool IsInterrupt(const SegmentRow& row) { return row.pid == 0; }

// Records of hooks, of programs or the kernel: whole calls may be missing.
bool LostHooks(const Report& report) {
  if (report.loss.discarded_events + report.loss.discarded_packets == 0) {
    return false;
  }
  const auto is_lossy = [](const SegmentRow& row) {
    return row.quality == Quality::kBounded;
  };
  return report.segment_paths.empty() ||
         std::any_of(report.segment_paths.begin(), report.segment_paths.end(),
                     is_lossy);
}

// The most that all rows of one metric together may lack: the unattributed part
// of the books. Infinite without books.
double Unattributed(const Report& report, const Metric& metric) {
  if (metric.kind == MetricKind::kEvent) {
    const auto index = EventIndex(report, metric.name);
    if (!index || *index >= report.books.size() ||
        !report.books[*index].known || report.books[*index].doubt.any()) {
      return kAnything;
    }
    // The unattributed count in the set's rotations says little about the time
    // between them.
    if (report.books[*index].scaled) return kAnything;
    return static_cast<double>(report.books[*index].unattributed);
  }
  double sum = 0;
  for (const CpuRow& row : report.cpu_rows) {
    sum += static_cast<double>(row.unattributed_ns);
  }
  return sum;
}

Amount Exact(std::uint64_t self, std::uint64_t incl, Quality quality) {
  return {self, incl, 0, 0, quality, {}, {}};
}

double Excess(std::uint64_t whole, std::uint64_t part) {
  return whole > part ? static_cast<double>(whole - part) : 0;
}

// Bounds of a bounded `amount`: `self` lacks at most `above`, and is at most
// `below` too large (from inner segments, whose own counts were too low).
void Bound(double below, double above, Amount& amount) {
  if (amount.quality != Quality::kBounded) return;
  amount.below = below;
  amount.above = above;
}

std::optional<Amount> SegmentAmount(const Report& report, const Metric& metric,
                                    const SegmentRow& row) {
  // Hook records are missing, and so may be any part of the times.
  const bool lossy = row.quality == Quality::kBounded;
  switch (metric.kind) {
    case MetricKind::kWall: {
      Amount amount = Exact(row.wall.excl, row.wall.incl, row.quality);
      Bound(kAnything, kAnything, amount);
      return amount;
    }
    case MetricKind::kOnCpu:
    case MetricKind::kOffCpu: {
      const bool on = metric.kind == MetricKind::kOnCpu;
      const auto& pair = on ? row.on_cpu : row.off_cpu;
      if (!row.on_cpu || !pair) return std::nullopt;
      Amount amount = Exact(pair->excl, pair->incl, row.on_cpu_quality);
      const double missing = lossy ? kAnything : Unattributed(report, metric);
      // Its on-CPU time is at most its wall time.
      const double more = Excess(row.wall.excl, row.on_cpu->excl) + missing;
      Bound(on ? missing : more, on ? more : missing, amount);
      return amount;
    }
    case MetricKind::kEvent:
      break;
  }
  const auto index = EventIndex(report, metric.name);
  if (!index || *index >= row.counts.size() || !row.counts[*index]) {
    return std::nullopt;
  }
  const SegmentCount& count = *row.counts[*index];
  Amount amount = Exact(count.excl, count.incl, count.quality);
  if (count.scaled) {
    // The event was counted in all calls.
    const bool whole = count.counted == count.incl && count.incl != 0;
    if (!whole) {
      amount.incl_error = SamplingError::Of(count.standard_error, count.slices);
    }
    if (!whole || count.excl_standard_error != 0.0) {
      amount.self_error =
          SamplingError::Of(count.excl_standard_error, count.slices);
    }
  }
  // A bounded estimate lacks the calls that the end of a rotation cut.
  const double missing =
      lossy || count.scaled ? kAnything : Unattributed(report, metric);
  Bound(missing, missing, amount);
  return amount;
}

// Absent: processes have no such amounts in this trace. An unknown amount of
// one process among others is missing, not unknown: the books contain it.
std::optional<Amount> ProcessAmount(const Report& report, const Metric& metric,
                                    const ProcessRow& row) {
  std::optional<std::uint64_t> value;
  if (metric.kind == MetricKind::kOnCpu) {
    if (report.cpu_rows.empty()) return std::nullopt;
    value = row.on_cpu_ns;
  } else if (metric.kind == MetricKind::kEvent) {
    const auto index = EventIndex(report, metric.name);
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
    const std::size_t index = *EventIndex(report, metric.name);
    if (index < row.scaled.size() && row.scaled[index]) {
      const ScaledCount& count = *row.scaled[index];
      amount.quality = Worse(amount.quality, Quality::kScaled);
      if (count.running < count.enabled) {
        amount.self_error =
            SamplingError::Of(count.standard_error, count.slices);
        amount.incl_error = amount.self_error;
      }
    }
  }
  const double missing = Unattributed(report, metric);
  Bound(0, missing, amount);
  return amount;
}

// For an event that CPUs multiplexed: one estimate for all processes.
std::optional<Amount> EstimatedTotal(const Report& report,
                                     const Metric& metric) {
  if (metric.kind != MetricKind::kEvent) return std::nullopt;
  const auto index = EventIndex(report, metric.name);
  if (!index || *index >= report.books.size()) return std::nullopt;
  const auto& scaled = report.books[*index].scaled;
  if (!scaled || !scaled->tasks) return std::nullopt;
  Amount total =
      Exact(scaled->tasks->value, scaled->tasks->value, Quality::kScaled);
  total.self_error =
      SamplingError::Of(scaled->tasks->standard_error, scaled->tasks->slices);
  total.incl_error = total.self_error;
  if (std::any_of(report.processes.begin(), report.processes.end(),
                  [](const ProcessRow& row) {
                    return row.quality == Quality::kBounded;
                  })) {
    total.quality = Quality::kBounded;
    Bound(0, kAnything, total);
  }
  return total;
}

// For an event that threads multiplexed at their hooks: the outermost segments,
// whose estimates include the inner ones.
Amount OutermostSegments(const Report& report, const Metric& metric) {
  Amount total;
  for (const SegmentRow& row : report.segment_paths) {
    if (IsInterrupt(row) || row.path.size() != 1) continue;
    if (const auto amount = SegmentAmount(report, metric, row)) {
      Add(*amount, total);
    }
  }
  total.self = total.incl;
  total.self_error = total.incl_error;
  return total;
}

using Key = std::tuple<std::string, std::vector<std::string>, bool>;
using Side = std::vector<RowOfRun> AlignedRow::*;

class Aligner {
 public:
  Aligner(const std::vector<Metric>& metrics, const AlignOptions& options,
          std::size_t before, std::size_t after)
      : metrics_(metrics), options_(options), before_(before), after_(after) {}

  void AddTrace(const Report& report, Side side, std::size_t run) {
    for (const SegmentRow& row : report.segment_paths) {
      AddSegment(report, row,
                 (Find(row.comm, row.path, IsInterrupt(row)).*side)[run]);
    }
    AddOutsideSegments(report, side, run);
    // A row that does not occur may have been lost.
    if (LostHooks(report)) lost_hooks_.emplace_back(side, run);
  }

  std::vector<AlignedRow> Finish() {
    std::vector<AlignedRow> rows;
    for (auto& [key, row] : rows_) {
      if (!row.path.empty()) {
        for (const auto& [side, run] : lost_hooks_) Doubt((row.*side)[run]);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  AlignedRow& Find(const std::string& comm,
                   const std::vector<std::string>& path, bool interrupts) {
    const std::string process = options_.any_process && !interrupts ? "" : comm;
    AlignedRow& row = rows_[Key(process, path, interrupts)];
    if (row.before.empty()) {
      row.process = process;
      row.path = path;
      row.interrupts = interrupts;
      RowOfRun nothing;
      nothing.amounts.assign(metrics_.size(), Amount());
      row.before.assign(before_, nothing);
      row.after.assign(after_, nothing);
    }
    return row;
  }

  void AddSegment(const Report& report, const SegmentRow& row,
                  RowOfRun& to) const {
    to.occurs = true;
    to.calls += row.calls;
    to.calls_quality = Worse(to.calls_quality, row.quality);
    if (row.quality == Quality::kBounded) {
      // Each lost record may have been an enter.
      to.calls_above = report.loss.discarded_packets != 0
                           ? kAnything
                           : static_cast<double>(report.loss.discarded_events);
    }
    to.squared_deviations +=
        static_cast<double>(row.calls) * row.wall.stddev * row.wall.stddev;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      Accumulate(SegmentAmount(report, metrics_[i], row), to.amounts[i]);
    }
  }

  static void Accumulate(const std::optional<Amount>& from,
                         std::optional<Amount>& to) {
    if (from && to) {
      Add(*from, *to);
    } else {
      to.reset();
    }
  }

  // For each process name: the amounts of its processes minus those of their
  // segments.
  void AddOutsideSegments(const Report& report, Side side, std::size_t run) {
    std::map<std::string, RowOfRun> totals;
    const auto total_of = [&](const std::string& process) -> RowOfRun& {
      RowOfRun& total = totals[process];
      if (!total.occurs) total.amounts.assign(metrics_.size(), Amount());
      total.occurs = true;
      return total;
    };
    for (const ProcessRow& process : report.processes) {
      RowOfRun& total = total_of(options_.any_process ? "" : process.comm);
      for (std::size_t i = 0; i < metrics_.size(); ++i) {
        Accumulate(ProcessAmount(report, metrics_[i], process),
                   total.amounts[i]);
      }
    }
    for (const auto& [key, row] : rows_) {
      const RowOfRun& inside = (row.*side)[run];
      if (row.interrupts || row.path.empty() || !inside.occurs) continue;
      RowOfRun& total = total_of(row.process);
      for (std::size_t i = 0; i < metrics_.size(); ++i) {
        if (total.amounts[i] && inside.amounts[i]) {
          Subtract(*inside.amounts[i], *total.amounts[i]);
        }
      }
    }
    for (auto& [process, total] : totals) {
      (Find(process, {}, false).*side)[run] = std::move(total);
    }
  }

  static void Subtract(const Amount& inside, Amount& left) {
    left.self -= inside.self;
    left.incl = left.self;
    left.below += inside.above;
    left.above += inside.below;
    left.self_error.Add(inside.self_error);
    left.incl_error = left.self_error;
    left.quality = Worse(left.quality, inside.quality);
  }

  static void Doubt(RowOfRun& row) {
    if (row.occurs) return;
    row.calls_above = kAnything;
    row.calls_quality = Quality::kBounded;
    for (std::optional<Amount>& amount : row.amounts) {
      if (!amount) continue;
      amount->quality = Quality::kBounded;
      amount->above = kAnything;
    }
  }

  const std::vector<Metric>& metrics_;
  const AlignOptions& options_;
  const std::size_t before_, after_;  // numbers of traces
  std::map<Key, AlignedRow> rows_;
  std::vector<std::pair<Side, std::size_t>> lost_hooks_;
};

}  // namespace

void Add(const Amount& from, Amount& to) {
  to.self += from.self;
  to.incl += from.incl;
  to.below += from.below;
  to.above += from.above;
  to.self_error.Add(from.self_error);
  to.incl_error.Add(from.incl_error);
  to.quality = Worse(to.quality, from.quality);
}

bool AlignedRow::OccursIn(const std::vector<RowOfRun>& side) const {
  return std::any_of(side.begin(), side.end(),
                     [](const RowOfRun& run) { return run.occurs; });
}

CommonMetrics FindCommonMetrics(const std::vector<const Report*>& reports) {
  CommonMetrics common;
  common.metrics.push_back({"wall", MetricKind::kWall, true});
  const bool kernel = std::all_of(
      reports.begin(), reports.end(),
      [](const Report* report) { return !report->cpu_rows.empty(); });
  if (kernel) {
    common.metrics.push_back({"on-CPU", MetricKind::kOnCpu, true});
    common.metrics.push_back({"off-CPU", MetricKind::kOffCpu, true});
  }
  for (const Report* report : reports) {
    for (const std::string& event : report->events) {
      // task-clock and cpu-clock of a thread are its on-CPU time, which is a
      // metric already.
      if (kernel && UnitOfEvent(event) == Unit::kNanoseconds) continue;
      const auto is_it = [&](const Metric& metric) {
        return metric.name == event;
      };
      auto& out = common.left_out;
      if (std::any_of(common.metrics.begin(), common.metrics.end(), is_it) ||
          std::find(out.begin(), out.end(), event) != out.end()) {
        continue;
      }
      if (std::all_of(reports.begin(), reports.end(), [&](const Report* r) {
            return EventIndex(*r, event).has_value();
          })) {
        common.metrics.push_back({event, MetricKind::kEvent,
                                  UnitOfEvent(event) == Unit::kNanoseconds});
        if (std::any_of(reports.begin(), reports.end(), [&](const Report* r) {
              return IsEstimated(*r, *EventIndex(*r, event));
            })) {
          common.estimated.push_back(event);
        }
      } else {
        out.push_back(event);
      }
    }
  }
  return common;
}

std::vector<AlignedRow> Align(const std::vector<Report>& before,
                              const std::vector<Report>& after,
                              const std::vector<Metric>& metrics,
                              const AlignOptions& options) {
  Aligner aligner(metrics, options, before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    aligner.AddTrace(before[i], &AlignedRow::before, i);
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    aligner.AddTrace(after[i], &AlignedRow::after, i);
  }
  return aligner.Finish();
}

std::optional<RowOfRun> WholeSegment(const Report& report,
                                     const std::string& segment,
                                     const std::vector<Metric>& metrics) {
  RowOfRun sum;
  sum.amounts.assign(metrics.size(), Amount());
  for (const SegmentRow& row : report.segments) {
    if (row.segment != segment) continue;
    sum.occurs = true;
    sum.calls += row.calls;
    sum.squared_deviations +=
        static_cast<double>(row.calls) * row.wall.stddev * row.wall.stddev;
    sum.calls_quality = Worse(sum.calls_quality, row.quality);
    if (row.quality == Quality::kBounded) sum.calls_above = kAnything;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto amount = SegmentAmount(report, metrics[i], row);
      if (amount && sum.amounts[i]) {
        Add(*amount, *sum.amounts[i]);
      } else {
        sum.amounts[i].reset();
      }
    }
  }
  if (!sum.occurs) return std::nullopt;
  return sum;
}

std::optional<Amount> ProcessTotal(const Report& report, const Metric& metric) {
  std::optional<Amount> sum;
  const auto add = [&sum](const std::optional<Amount>& amount) {
    if (!amount) return;
    if (!sum) sum = Amount();
    Add(*amount, *sum);
  };
  if (const auto total = EstimatedTotal(report, metric)) return total;
  for (const ProcessRow& process : report.processes) {
    add(ProcessAmount(report, metric, process));
  }
  if (sum) {
    // Together they lack at most the unattributed part of the books.
    sum->above = std::min(sum->above, Unattributed(report, metric));
    return sum;
  }
  for (const SegmentRow& row : report.segment_paths) {
    if (!IsInterrupt(row)) add(SegmentAmount(report, metric, row));
  }
  if (!sum) return sum;
  if (sum->self_error.any()) return OutermostSegments(report, metric);
  sum->incl = sum->self;
  return sum;
}

std::uint64_t SumOfSegments(const Report& report, const Metric& metric) {
  std::uint64_t sum = 0;
  for (const SegmentRow& row : report.segment_paths) {
    if (IsInterrupt(row)) continue;
    if (const auto amount = SegmentAmount(report, metric, row)) {
      sum += amount->self;
    }
  }
  return sum;
}

}  // namespace countrace::rmap::diff
