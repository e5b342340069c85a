#include "rmap/diff/aligned_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "rmap/diff/row_bounds.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

constexpr double kAnything = std::numeric_limits<double>::infinity();

bool LostRecords(const Report& report) {
  return report.loss.discarded_events + report.loss.discarded_packets != 0;
}

// Records of hooks, of programs or the kernel: whole calls may be missing.
bool LostHooks(const Report& report) {
  if (!LostRecords(report)) return false;
  const auto is_lossy = [](const SegmentRow& row) {
    return row.quality == Quality::kBounded;
  };
  return report.segment_paths.empty() ||
         std::any_of(report.segment_paths.begin(), report.segment_paths.end(),
                     is_lossy);
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
    if (report.finished && !LostRecords(report)) {
      LimitOnCpuTime(report, side, run);
    }
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
    to.calls.Add(CallsOfRow(report, row));
    to.calls_quality = Worse(to.calls_quality, row.quality);
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      Accumulate(AmountOf(report, metrics_[i], row), to.amounts[i]);
    }
  }

  // Switches that the kernel did not show: an interval was one thread's at a
  // time, so all rows of a name together lack no more than one of them.
  void LimitOnCpuTime(const Report& report, Side side, std::size_t run) {
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (metrics_[i].kind != MetricKind::kOnCpu) continue;
      const double most = MostMissing(report, metrics_[i]);
      for (auto& [key, row] : rows_) {
        std::optional<Amount>& amount = (row.*side)[run].amounts[i];
        if (amount) amount->Limit(most);
      }
    }
  }

  static void Accumulate(const std::optional<Amount>& from,
                         std::optional<Amount>& to) {
    if (from && to) {
      to->Add(*from);
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
        Accumulate(AmountOf(report, metrics_[i], process), total.amounts[i]);
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
    left.self.value -= inside.self.value;
    left.self.below += inside.self.above;
    left.self.above += inside.self.below;
    left.self.error.Add(inside.self.error);
    left.incl = left.self;
    left.quality = Worse(left.quality, inside.quality);
  }

  static void Doubt(RowOfRun& row) {
    if (row.occurs) return;
    row.calls.above = kAnything;
    row.calls_quality = Quality::kBounded;
    for (std::optional<Amount>& amount : row.amounts) {
      if (!amount) continue;
      amount->quality = Quality::kBounded;
      amount->self.above = amount->incl.above = kAnything;
    }
  }

  const std::vector<Metric>& metrics_;
  const AlignOptions& options_;
  const std::size_t before_, after_;  // numbers of traces
  std::map<Key, AlignedRow> rows_;
  std::vector<std::pair<Side, std::size_t>> lost_hooks_;
};

}  // namespace

bool AlignedRow::OccursIn(const std::vector<RowOfRun>& side) const {
  return std::any_of(side.begin(), side.end(),
                     [](const RowOfRun& run) { return run.occurs; });
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
    sum.calls.Add(CallsOfRow(report, row));
    sum.calls_quality = Worse(sum.calls_quality, row.quality);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const auto amount = AmountOf(report, metrics[i], row);
      if (amount && sum.amounts[i]) {
        sum.amounts[i]->Add(*amount);
      } else {
        sum.amounts[i].reset();
      }
    }
  }
  if (!sum.occurs) return std::nullopt;
  return sum;
}

}  // namespace countrace::rmap::diff
