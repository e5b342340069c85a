#include "rmap/diff/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/diff/change_format.h"
#include "rmap/diff/headline_metric.h"
#include "rmap/diff/power.h"

namespace countrace::rmap::diff {

namespace {

constexpr std::size_t kMaxLines = 3;
constexpr double kMinShare = 0.1;
constexpr std::size_t kMaxReasons = 2;
// A smaller change of a count does not explain a slower segment.
constexpr double kMinReasonRatio = 1.2;

bool IsSure(const MetricChange& metric) {
  return metric.self.IsSure() || (metric.per_call && metric.per_call->IsSure());
}

// Events that grow with the time itself, whatever made it longer.
bool FollowsFromTime(const std::string& event, const std::string& headline) {
  static constexpr const char* kClocks[] = {"cycles", "cpu-cycles",
                                            "ref-cycles", "bus-cycles"};
  for (const char* clock : kClocks) {
    if (event.rfind(clock, 0) == 0) return true;
  }
  return headline == "on-CPU" &&
         (event == "context-switches" || event == "cs" ||
          event == "cpu-migrations" || event == "migrations");
}

std::string CountChange(const MetricChange& metric, const Change& change,
                        const char* per_call) {
  return absl::StrFormat("%s%s %s -> %s", metric.metric, per_call,
                         FormatAmount(change.before, metric.is_time),
                         FormatAmount(change.after, metric.is_time));
}

// Changes in the same direction as the headline's, strongest first.
std::string Reasons(const RowChange& row, const MetricChange& headline) {
  const bool more = headline.self.value() > 0;
  std::vector<std::pair<double, std::string>> found;
  std::string counted;
  for (const MetricChange& metric : row.metrics) {
    if (metric.metric == headline.metric || metric.metric == "wall") continue;
    if (metric.metric == "on-CPU" ||
        FollowsFromTime(metric.metric, headline.metric)) {
      continue;
    }
    const bool off_cpu = metric.metric == "off-CPU";
    if (off_cpu && headline.metric != "wall") continue;
    const bool by_call = metric.per_call.has_value();
    const Change& change = by_call ? *metric.per_call : metric.self;
    if (metric.metric != "calls" && !off_cpu) {
      counted += (counted.empty() ? "" : ", ") + metric.metric;
    }
    const double strength = std::fabs(LogRatio(change.before, change.after));
    if (!change.IsSure() || (change.value() > 0) != more ||
        strength < std::log(kMinReasonRatio)) {
      continue;
    }
    found.emplace_back(strength,
                       CountChange(metric, change, by_call ? " per call" : ""));
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.empty()) {
    return counted.empty() ? ""
                           : "no recorded count explains it (" + counted + ")";
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kMaxReasons); ++i) {
    text += (i == 0 ? "" : ", ") + found[i].second;
  }
  return text;
}

std::string HowMuch(double before, double after) {
  const double ratio = after > before ? after / before : before / after;
  const char* word = after > before ? "slower" : "faster";
  if (ratio >= 99.5) return FormatRatio(1, ratio) + " " + word;
  if (ratio >= 1.995) return absl::StrFormat("%.2gx %s", ratio, word);
  return absl::StrFormat("%.1f %% %s", 100 * (ratio - 1), word);
}

std::string HowMuchOf(double before, double after) {
  if (before <= 0) return "";
  const double ratio = after / before;
  if (ratio >= 1.995) return FormatRatio(before, after) + " the ";
  if (ratio < 0.005) return "almost no ";
  return absl::StrFormat("%s %s ", FormatPercent(std::fabs(ratio - 1)),
                         ratio > 1 ? "more" : "less");
}

std::string What(const RowChange& row, const MetricChange& headline) {
  if (row.presence == RowChange::Presence::kOnlyAfter) return "is new";
  if (row.presence == RowChange::Presence::kOnlyBefore) return "is gone";
  const Change& self = headline.self;
  if (row.path.empty()) {
    return "uses " + HowMuchOf(self.before, self.after) + headline.metric +
           " time";
  }
  const MetricChange* calls = row.Find("calls");
  if (calls != nullptr && calls->self.IsSure()) {
    const double by_calls = LogRatio(calls->self.before, calls->self.after);
    const double by_call =
        headline.per_call
            ? LogRatio(headline.per_call->before, headline.per_call->after)
            : 0;
    const bool same_direction = (by_calls > 0) == (self.value() > 0);
    if (same_direction && std::fabs(by_calls) > std::fabs(by_call)) {
      return absl::StrFormat("runs %.2gx as often",
                             calls->self.after / calls->self.before);
    }
  }
  const Change& change = headline.per_call ? *headline.per_call : self;
  if (change.before <= 0 || change.after <= 0) return "changed";
  return "is " + HowMuch(change.before, change.after);
}

// With its process, where another one, perhaps of another host, has that path.
std::string NameIn(const Diff& diff, const RowChange& row) {
  const bool shared = std::ranges::any_of(diff.rows, [&](const auto& other) {
    return !row.path.empty() && other.path == row.path &&
           other.process != row.process;
  });
  return ShortName(row) + (shared ? " (" + row.process + ")" : "");
}

std::string Line(const Diff& diff, const RowChange& row,
                 const MetricChange& headline, const MetricChange* total) {
  // Two runs differ; whether the programs do, is not known.
  const std::string what =
      diff.IsOneRunEach()
          ? "differs, " + FormatRatio(headline.self.before, headline.self.after)
          : What(row, headline);
  std::string text =
      absl::StrFormat("%s %s (%s", NameIn(diff, row), what,
                      FormatSigned(headline.self.value(), headline.is_time));
  if (headline.share) {
    text += absl::StrFormat(" of %s %s, %s",
                            FormatSigned(total->self.value(), total->is_time),
                            headline.metric, FormatPercent(*headline.share));
  } else {
    text += " " + headline.metric;
  }
  text += ")";
  const std::string reasons = Reasons(row, headline);
  return reasons.empty() ? text : text + ": " + reasons;
}

std::string NoVerdict(const std::vector<RunsNeeded>& advice) {
  std::string text = "one run each: no verdict";
  for (const RunsNeeded& needed : advice) {
    text += &needed == &advice.front()
                ? absl::StrFormat(
                      "; %d runs a side see a change of %g %% if runs deviate "
                      "by %g %%",
                      needed.runs, 100 * needed.change, 100 * needed.deviation)
                : absl::StrFormat(", %d if by %g %%", needed.runs,
                                  100 * needed.deviation);
  }
  return text;
}

// As a part of the mean before; absent without a mean.
std::optional<double> DetectablePart(const Change& change) {
  if (!change.detectable || !(change.before > 0)) return std::nullopt;
  return *change.detectable / change.before;
}

// The change of `total` that these runs find. Small rows are left out: their
// noise matters little.
std::optional<std::string> PowerLine(const Diff& diff,
                                     const MetricChange& total) {
  std::vector<double> of_rows;
  for (const RowChange& row : diff.rows) {
    const MetricChange* metric = row.Find(total.metric);
    if (metric == nullptr || row.interrupts || row.small) continue;
    if (const auto part = DetectablePart(metric->self)) {
      of_rows.push_back(*part);
    }
  }
  std::string text;
  if (const auto part = DetectablePart(total.self)) {
    text += FormatDetectable(*part) + " in total";
  }
  if (!of_rows.empty()) {
    const auto middle =
        of_rows.begin() + static_cast<std::ptrdiff_t>((of_rows.size() - 1) / 2);
    std::nth_element(of_rows.begin(), middle, of_rows.end());
    text += (text.empty() ? "" : ", ") + FormatDetectable(*middle) +
            " in the median row";
  }
  if (text.empty()) return std::nullopt;
  const std::string runs =
      diff.runs_before() == diff.runs_after()
          ? absl::StrFormat("%d runs a side", diff.runs_before())
          : absl::StrFormat("%d and %d runs", diff.runs_before(),
                            diff.runs_after());
  return absl::StrFormat("%s find a change of %s time by %s (power %g %%)",
                         runs, total.metric, text, 100 * kPower);
}

// The rows that changed most, or that none did.
std::vector<std::string> RowLines(const Diff& diff, const std::string& headline,
                                  const MetricChange* total) {
  std::vector<std::string> lines;
  double largest = 0;
  std::vector<const RowChange*> rows;
  for (const RowChange& row : diff.rows) rows.push_back(&row);
  // In a recording of the whole machine others change, too.
  std::stable_partition(rows.begin(), rows.end(),
                        [](const RowChange* row) { return row->marked; });
  for (const RowChange* const row : rows) {
    const MetricChange* metric = row->Find(headline);
    if (metric == nullptr || row->interrupts || !IsSure(*metric)) continue;
    const double size = std::fabs(metric->self.value());
    largest = std::max(largest, size);
    const double share =
        metric->share ? std::fabs(*metric->share) : size / largest;
    if (!(share >= kMinShare)) continue;  // also 0 of 0
    if (lines.size() == kMaxLines) break;
    lines.push_back(Line(diff, *row, *metric, total));
  }
  if (!lines.empty()) return lines;
  if (diff.rows_within_noise == diff.rows.size()) {
    return {diff.IsOneRunEach() ? "no row differs"
                                : "nothing changed beyond noise"};
  }
  if (total != nullptr && IsSure(*total)) {
    return {
        absl::StrFormat("all processes: %s %s; that of no segment surely %s",
                        FormatSigned(total->self.value(), total->is_time),
                        headline, diff.IsOneRunEach() ? "differs" : "changed")};
  }
  return {headline + (diff.IsOneRunEach()
                          ? " time surely differs nowhere"
                          : " time changed nowhere beyond noise")};
}

}  // namespace

std::vector<std::string> Explain(const Diff& diff) {
  const std::string headline = HeadlineMetric(diff);
  const MetricChange* total = FindTotal(diff, headline);
  std::vector<std::string> lines = RowLines(diff, headline, total);
  if (diff.IsOneRunEach()) {
    lines.insert(lines.begin(), NoVerdict(diff.advice));
  } else if (total != nullptr) {
    if (auto power = PowerLine(diff, *total)) {
      lines.push_back(*std::move(power));
    }
  }
  return lines;
}

}  // namespace countrace::rmap::diff
