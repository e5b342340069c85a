#include "rmap/diff/compare.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "rmap/diff/balance.h"
#include "rmap/diff/comparison_notes.h"
#include "rmap/diff/explanation.h"
#include "rmap/diff/headline_metric.h"
#include "rmap/diff/number_tests.h"
#include "rmap/diff/power.h"
#include "rmap/diff/samples.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

constexpr double kAdvisedChange = 0.05;

bool AlwaysEqual(const std::vector<RowOfRun>& before,
                 const std::vector<RowOfRun>& after) {
  const std::uint64_t calls = before.front().calls.value;
  const auto same = [calls](const RowOfRun& run) {
    return run.calls.value == calls && run.calls.above == 0 &&
           run.calls.below == 0;
  };
  return std::all_of(before.begin(), before.end(), same) &&
         std::all_of(after.begin(), after.end(), same);
}

// Rows with less than this part of wall and of on-CPU time are small.
constexpr double kSmallPart = 0.01;

double SumOverRuns(const Sample& before, const Sample& after) {
  const auto sum = [](const Sample& sample) {
    return sample.Mean() * static_cast<double>(sample.values.size());
  };
  return sum(before) + sum(after);
}

struct Pair {
  Sample before, after;
};

// Numbers of a row or total, with the samples behind them.
struct PendingMetric {
  MetricChange change;
  NumberTests::Family family = NumberTests::kLarge;
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
      : before_(before), after_(after), options_(options) {
    for (const auto* side : {&before, &after}) {
      for (const Report& report : *side) {
        for (const ProcessRow& process : report.processes) {
          if (process.marked) marked_.insert(process.comm);
        }
      }
    }
  }

  absl::StatusOr<Diff> Run() {
    std::vector<const Report*> all;
    for (const Report& report : before_) all.push_back(&report);
    for (const Report& report : after_) all.push_back(&report);
    compared_ = FindComparedMetrics(all);
    const std::vector<AlignedRow> rows =
        Align(before_, after_, compared_.metrics, options_.align);

    BeginTotals();
    for (const AlignedRow& row : rows) BeginRow(row);
    tests_.Decide(options_.false_discovery_rate);
    EndTotals();
    EndRows();

    for (std::size_t i = 0; i < compared_.metrics.size(); ++i) {
      diff_.balances.push_back(
          BalanceOf(rows, compared_.metrics, i, before_, after_));
    }
    auto thresholds =
        Judge(options_.thresholds, before_, after_, compared_.metrics);
    if (!thresholds.ok()) return thresholds.status();
    diff_.thresholds = *std::move(thresholds);
    diff_.tests = tests_.size();
    diff_.discoveries = tests_.discoveries();
    diff_.tail = tests_.tail(NumberTests::kLarge);
    diff_.tail_of_small_rows = tests_.tail(NumberTests::kSmall);
    if (before_.size() == 1 && after_.size() == 1) AdviseRuns();
    for (const Report& report : before_) diff_.before.push_back(Trace(report));
    for (const Report& report : after_) diff_.after.push_back(Trace(report));
    diff_.notes = NotesOn(before_, after_, compared_);
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
    pending.change.self = tests_.Begin(pending.self.before, pending.self.after,
                                       quality, pending.family);
    if (!pending.per_call) return;
    if (pending.per_call_is_self) {
      Change& change = pending.change.per_call.emplace();
      change.before = pending.per_call->before.Mean();
      change.after = pending.per_call->after.Mean();
      change.quality = quality;
      change.p = pending.change.self.p;
      change.constant = pending.change.self.constant;
      change.error_before = pending.per_call->before.of_turns;
      change.error_after = pending.per_call->after.of_turns;
    } else {
      pending.change.per_call =
          tests_.Begin(pending.per_call->before, pending.per_call->after,
                       quality, pending.family);
    }
  }

  void BeginTotals() {
    PendingMetric elapsed;
    elapsed.change.metric = "elapsed";
    elapsed.change.is_time = true;
    elapsed.self = {ElapsedOf(before_), ElapsedOf(after_)};
    Begin(elapsed, Quality::kExact);
    totals_.push_back(std::move(elapsed));
    for (const Metric& metric : compared_.metrics) {
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
    pending.row.small = IsSmall(row);
    pending.row.marked = marked_.contains(row.process);
    bool same_calls = false;
    if (!row.path.empty()) {
      PendingMetric calls;
      calls.change.metric = "calls";
      calls.family = FamilyOf(pending.row);
      calls.self = {CallsOf(row.before), CallsOf(row.after)};
      calls.change.incl_before = calls.self.before.Mean();
      calls.change.incl_after = calls.self.after.Mean();
      same_calls = AlwaysEqual(row.before, row.after);
      Quality quality = Quality::kExact;
      for (const auto* side : {&row.before, &row.after}) {
        for (const RowOfRun& run : *side) {
          quality = Worse(quality, run.calls_quality);
        }
      }
      Begin(calls, quality);
      pending.metrics.push_back(std::move(calls));
    }
    for (std::size_t i = 0; i < compared_.metrics.size(); ++i) {
      AddMetric(row, i, same_calls, pending);
    }
    rows_.push_back(std::move(pending));
  }

  static NumberTests::Family FamilyOf(const RowChange& row) {
    return row.small ? NumberTests::kSmall : NumberTests::kLarge;
  }

  // From the runs of both sides together.
  bool IsSmall(const AlignedRow& row) const {
    for (std::size_t i = 0; i < compared_.metrics.size(); ++i) {
      const Metric& metric = compared_.metrics[i];
      if (metric.kind != MetricKind::kWall &&
          metric.kind != MetricKind::kOnCpu) {
        continue;
      }
      const auto before = SumsOf(row.before, i, Part::kSelf);
      const auto after = SumsOf(row.after, i, Part::kSelf);
      const PendingMetric* total = FindPendingTotal(metric.name);
      if (!before || !after || total == nullptr) continue;
      if (SumOverRuns(*before, *after) >=
          kSmallPart * SumOverRuns(total->self.before, total->self.after)) {
        return false;
      }
    }
    return true;
  }

  const PendingMetric* FindPendingTotal(const std::string& metric) const {
    for (const PendingMetric& total : totals_) {
      if (total.change.metric == metric) return &total;
    }
    return nullptr;
  }

  void AddMetric(const AlignedRow& row, std::size_t index, bool same_calls,
                 PendingRow& to) {
    const Metric& metric = compared_.metrics[index];
    auto before = SumsOf(row.before, index, Part::kSelf);
    auto after = SumsOf(row.after, index, Part::kSelf);
    if (!before || !after) return;
    PendingMetric pending;
    pending.change.metric = metric.name;
    pending.change.is_time = metric.is_time;
    pending.family = FamilyOf(to.row);
    pending.self = {*std::move(before), *std::move(after)};
    pending.change.incl_before =
        SumsOf(row.before, index, Part::kInclusive)->Mean();
    pending.change.incl_after =
        SumsOf(row.after, index, Part::kInclusive)->Mean();
    if (!row.path.empty()) {
      auto each_before = PerCallOf(row.before, index, Part::kSelf);
      auto each_after = PerCallOf(row.after, index, Part::kSelf);
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
    tests_.End(pending.self.before, pending.self.after, pending.family,
               change.self);
    if (!change.per_call) return;
    tests_.End(pending.per_call->before, pending.per_call->after,
               pending.family, *change.per_call);
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

  void AdviseRuns() {
    for (const double deviation : {0.01, 0.03}) {
      diff_.advice.push_back(
          {kAdvisedChange, deviation,
           RunsToFind(kAdvisedChange, deviation, tests_.tail_of_one_change())});
    }
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
  std::set<std::string> marked_;  // command names
  ComparedMetrics compared_;
  NumberTests tests_;
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
