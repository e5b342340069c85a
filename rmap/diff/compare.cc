#include "rmap/diff/compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rmap/diff/balance.h"
#include "rmap/diff/comparison_notes.h"
#include "rmap/diff/explanation.h"
#include "rmap/diff/samples.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

bool AllTheSame(const Sample& before, const Sample& after) {
  const double value = before.values.front();
  const auto same = [value](double other) { return other == value; };
  return std::all_of(before.values.begin(), before.values.end(), same) &&
         std::all_of(after.values.begin(), after.values.end(), same);
}

// Collects all tests; the verdicts depend on all of them.
class Tests {
 public:
  Change Begin(const Sample& before, const Sample& after, Quality quality) {
    Change change;
    change.before = before.Mean();
    change.after = after.Mean();
    change.quality = quality;
    change.constant = AllTheSame(before, after);
    change.error_before = before.of_turns;
    change.error_after = after.of_turns;
    const Difference difference(before, after);
    if (!difference.noise_known()) return change;
    change.p = difference.p();
    // A number that is the same in all runs of both sides is not tested. (This
    // filter does not depend on the side of a run: Bourgon, Gentleman and Huber
    // 2010.)
    if (!change.constant) p_values_.push_back(*change.p);
    return change;
  }

  void Decide(double rate) {
    discoveries_ = Discoveries(p_values_, rate);
    const auto tests =
        static_cast<double>(std::max<std::size_t>(p_values_.size(), 1));
    tail_ = rate * static_cast<double>(std::max<std::size_t>(discoveries_, 1)) /
            tests;
  }

  void End(const Sample& before, const Sample& after, Change& change) const {
    const Difference difference(before, after);
    if (!difference.is_bare()) change.interval = difference.At(tail_);
    if (!difference.noise_known()) {
      const Interval interval = difference.At(tail_);
      const bool may_be_equal = interval.low <= 0 && interval.high >= 0;
      change.verdict = difference.value() == 0 ? Verdict::kWithinNoise
                       : may_be_equal          ? Verdict::kMayBeLoss
                                               : Verdict::kNoiseUnknown;
    } else if (*change.p < tail_) {
      change.verdict = Verdict::kBeyondNoise;
    } else if (difference.p_of_noise() < tail_) {
      change.verdict = Verdict::kMayBeLoss;
    }
  }

  std::size_t size() const { return p_values_.size(); }
  std::size_t discoveries() const { return discoveries_; }
  double tail() const { return tail_; }

 private:
  std::vector<double> p_values_;
  std::size_t discoveries_ = 0;
  double tail_ = 0;
};

struct Pair {
  Sample before, after;
};

// Numbers of a row or total, with the samples behind them.
struct PendingMetric {
  MetricChange change;
  Pair self;
  std::optional<Pair> per_call;
  bool per_call_is_self =
      false;  // the same number of calls in all runs: one test
};

struct PendingRow {
  RowChange row;
  std::vector<PendingMetric> metrics;
};

class Comparer {
 public:
  Comparer(const std::vector<Report>& before, const std::vector<Report>& after,
           const CompareOptions& options)
      : before_(before), after_(after), options_(options) {}

  absl::StatusOr<Diff> Run() {
    std::vector<const Report*> all;
    for (const Report& report : before_) all.push_back(&report);
    for (const Report& report : after_) all.push_back(&report);
    common_ = FindCommonMetrics(all);
    const std::vector<AlignedRow> rows =
        Align(before_, after_, common_.metrics, options_.align);

    BeginTotals();
    for (const AlignedRow& row : rows) BeginRow(row);
    tests_.Decide(options_.false_discovery_rate);
    EndTotals();
    EndRows();

    for (std::size_t i = 0; i < common_.metrics.size(); ++i) {
      diff_.balances.push_back(
          BalanceOf(rows, common_.metrics, i, before_, after_));
    }
    auto thresholds =
        Judge(options_.thresholds, before_, after_, common_.metrics);
    if (!thresholds.ok()) return thresholds.status();
    diff_.thresholds = *std::move(thresholds);
    diff_.tests = tests_.size();
    diff_.discoveries = tests_.discoveries();
    diff_.tail = tests_.tail();
    for (const Report& report : before_) diff_.before.push_back(Trace(report));
    for (const Report& report : after_) diff_.after.push_back(Trace(report));
    diff_.notes = NotesOn(before_, after_, common_);
    diff_.explanations = Explain(diff_);
    return std::move(diff_);
  }

 private:
  static TraceOfSide Trace(const Report& report) {
    return {report.path,
            report.command,
            report.hostname,
            report.kernel_release,
            report.scope,
            report.begin_ns,
            report.end_ns,
            report.records,
            report.cpus,
            report.loss.discarded_events,
            report.loss.discarded_packets};
  }

  void Begin(PendingMetric& pending, Quality quality) {
    pending.change.self =
        tests_.Begin(pending.self.before, pending.self.after, quality);
    if (!pending.per_call) return;
    if (pending.per_call_is_self) {
      Change& change = pending.change.per_call.emplace();
      change.before = pending.per_call->before.Mean();
      change.after = pending.per_call->after.Mean();
      change.quality = quality;
      change.p = pending.change.self.p;
      change.error_before = pending.per_call->before.of_turns;
      change.error_after = pending.per_call->after.of_turns;
    } else {
      pending.change.per_call = tests_.Begin(pending.per_call->before,
                                             pending.per_call->after, quality);
    }
  }

  void BeginTotals() {
    PendingMetric elapsed;
    elapsed.change.metric = "elapsed";
    elapsed.change.is_time = true;
    elapsed.self = {ElapsedOf(before_), ElapsedOf(after_)};
    Begin(elapsed, Quality::kExact);
    totals_.push_back(std::move(elapsed));
    for (const Metric& metric : common_.metrics) {
      auto before = TotalsOf(before_, metric), after = TotalsOf(after_, metric);
      if (!before || !after) continue;
      PendingMetric total;
      total.change.metric = metric.name;
      total.change.is_time = metric.is_time;
      total.self = {*std::move(before), *std::move(after)};
      const bool bounded = total.self.before.above + total.self.after.above +
                               total.self.before.below +
                               total.self.after.below >
                           0;
      const bool estimated =
          total.self.before.of_turns.any() || total.self.after.of_turns.any();
      Begin(total, bounded     ? Quality::kBounded
                   : estimated ? Quality::kScaled
                               : Quality::kExact);
      totals_.push_back(std::move(total));
    }
  }

  void BeginRow(const AlignedRow& row) {
    PendingRow pending;
    pending.row.process = row.process;
    pending.row.path = row.path;
    pending.row.interrupts = row.interrupts;
    if (!row.OccursIn(row.before)) {
      pending.row.presence = RowChange::Presence::kOnlyAfter;
    } else if (!row.OccursIn(row.after)) {
      pending.row.presence = RowChange::Presence::kOnlyBefore;
    }
    bool same_calls = false;
    if (!row.path.empty()) {
      PendingMetric calls;
      calls.change.metric = "calls";
      calls.self = {CallsOf(row.before), CallsOf(row.after)};
      calls.change.incl_before = calls.self.before.Mean();
      calls.change.incl_after = calls.self.after.Mean();
      same_calls = AllTheSame(calls.self.before, calls.self.after) &&
                   calls.self.before.above + calls.self.after.above == 0;
      Quality quality = Quality::kExact;
      for (const auto* side : {&row.before, &row.after}) {
        for (const RowOfRun& run : *side) {
          quality = Worse(quality, run.calls_quality);
        }
      }
      Begin(calls, quality);
      pending.metrics.push_back(std::move(calls));
    }
    for (std::size_t i = 0; i < common_.metrics.size(); ++i) {
      AddMetric(row, i, same_calls, pending);
    }
    rows_.push_back(std::move(pending));
  }

  void AddMetric(const AlignedRow& row, std::size_t index, bool same_calls,
                 PendingRow& to) {
    const Metric& metric = common_.metrics[index];
    auto before = SumsOf(row.before, metric, index, Part::kSelf);
    auto after = SumsOf(row.after, metric, index, Part::kSelf);
    if (!before || !after) return;
    PendingMetric pending;
    pending.change.metric = metric.name;
    pending.change.is_time = metric.is_time;
    pending.self = {*std::move(before), *std::move(after)};
    pending.change.incl_before =
        SumsOf(row.before, metric, index, Part::kInclusive)->Mean();
    pending.change.incl_after =
        SumsOf(row.after, metric, index, Part::kInclusive)->Mean();
    if (!row.path.empty()) {
      auto each_before = PerCallOf(row.before, metric, index, Part::kSelf);
      auto each_after = PerCallOf(row.after, metric, index, Part::kSelf);
      if (each_before && each_after) {
        pending.per_call = {*std::move(each_before), *std::move(each_after)};
        pending.per_call_is_self = same_calls;
      }
    }
    Begin(pending,
          Worse(QualityOf(row.before, index), QualityOf(row.after, index)));
    to.metrics.push_back(std::move(pending));
  }

  void End(PendingMetric& pending) const {
    MetricChange& change = pending.change;
    tests_.End(pending.self.before, pending.self.after, change.self);
    if (!change.per_call) return;
    tests_.End(pending.per_call->before, pending.per_call->after,
               *change.per_call);
    if (pending.per_call_is_self) {
      change.per_call->verdict = change.self.verdict;
    }
  }

  void EndTotals() {
    for (PendingMetric& total : totals_) {
      End(total);
      diff_.totals.push_back(std::move(total.change));
    }
  }

  void EndRows() {
    for (PendingRow& pending : rows_) {
      for (PendingMetric& metric : pending.metrics) {
        End(metric);
        if (!pending.row.interrupts) SetShare(metric.change);
        pending.row.metrics.push_back(std::move(metric.change));
      }
      if (!pending.row.Differs()) ++diff_.rows_within_noise;
      diff_.rows.push_back(std::move(pending.row));
    }
    const std::string headline = HeadlineMetric(diff_);
    const auto size = [&](const RowChange& row) {
      const MetricChange* metric = row.Find(headline);
      return metric == nullptr ? 0 : std::fabs(metric->self.value());
    };
    // Aligned rows are sorted by name.
    std::stable_sort(diff_.rows.begin(), diff_.rows.end(),
                     [&](const RowChange& a, const RowChange& b) {
                       return std::pair(a.Differs(), size(a)) >
                              std::pair(b.Differs(), size(b));
                     });
  }

  void SetShare(MetricChange& change) const {
    const MetricChange* total = FindTotal(diff_, change.metric);
    if (total == nullptr || total->self.value() == 0 || !total->self.IsSure()) {
      return;
    }
    change.share = change.self.value() / total->self.value();
  }

  const std::vector<Report>& before_;
  const std::vector<Report>& after_;
  const CompareOptions& options_;
  CommonMetrics common_;
  Tests tests_;
  std::vector<PendingMetric> totals_;
  std::vector<PendingRow> rows_;
  Diff diff_;
};

}  // namespace

absl::StatusOr<Diff> Compare(const std::vector<Report>& before,
                             const std::vector<Report>& after,
                             const CompareOptions& options) {
  return Comparer(before, after, options).Run();
}

}  // namespace countrace::rmap::diff
