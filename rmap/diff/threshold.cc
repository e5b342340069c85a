#include "rmap/diff/threshold.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/diff/samples.h"

namespace countrace::rmap::diff {

namespace {

// Probability that noise causes a regression in any of the thresholds.
constexpr double kTail = 0.05;

std::string Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(
      text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

bool IsSegment(const std::string& name, const std::vector<Report>& reports) {
  return std::any_of(reports.begin(), reports.end(), [&](const Report& report) {
    return std::any_of(
        report.segments.begin(), report.segments.end(),
        [&](const SegmentRow& row) { return row.segment == name; });
  });
}

std::optional<std::size_t> MetricIndex(const std::vector<Metric>& metrics,
                                       const std::string& name) {
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (absl::AsciiStrToLower(metrics[i].name) == absl::AsciiStrToLower(name)) {
      return i;
    }
  }
  return std::nullopt;
}

struct Samples {
  Sample before, after;
};

Quality QualityOf(const Samples& samples) {
  const Sample &before = samples.before, &after = samples.after;
  if (before.below + before.above + after.below + after.above > 0) {
    return Quality::kBounded;
  }
  return before.of_turns.any() || after.of_turns.any() ? Quality::kScaled
                                                       : Quality::kExact;
}

class Judgement {
 public:
  Judgement(const std::vector<Report>& before, const std::vector<Report>& after,
            const std::vector<Metric>& metrics)
      : before_(before), after_(after), metrics_(metrics) {}

  absl::StatusOr<ThresholdResult> Decide(const Threshold& threshold,
                                         double tail) const {
    ThresholdResult result;
    result.text = threshold.text;
    result.percent = threshold.percent;
    auto samples = Resolve(threshold, result);
    if (!samples.ok()) return samples.status();

    const Difference change(samples->before, samples->after);
    result.change.before = samples->before.Mean();
    result.change.after = samples->after.Mean();
    result.change.error_before = samples->before.of_turns;
    result.change.error_after = samples->after.of_turns;
    result.change.quality = QualityOf(*samples);
    if (!change.is_bare()) result.change.interval = change.At(tail);
    if (change.noise_known()) result.change.p = change.p();
    result.change.verdict = change.VerdictAt(tail);
    result.change.detectable = change.Detectable(tail);

    const Difference excess(samples->before, samples->after,
                            1 + threshold.percent / 100);
    const Interval interval = excess.At(tail);
    if (interval.low > 0) {
      result.verdict = ThresholdVerdict::kRegression;
    } else if (excess.value() > 0 || std::isinf(interval.high)) {
      result.verdict = ThresholdVerdict::kUndecided;
    }
    return result;
  }

 private:
  absl::Status Refuse(const Threshold& threshold,
                      const std::string& why) const {
    return absl::NotFoundError(absl::StrFormat(
        "--threshold '%s': %s", base::EscapeName(threshold.text), why));
  }

  absl::StatusOr<Samples> Resolve(const Threshold& threshold,
                                  ThresholdResult& result) const {
    const std::string& where = threshold.where;
    if (IsKnown(where)) return OfSegment(threshold, where, "wall", result);
    const auto colon = where.rfind(':');
    const std::string head = where.substr(0, colon);
    const std::string tail =
        colon == std::string::npos ? "" : where.substr(colon + 1);
    if (head.empty() || head == "total") {
      return OfTotal(threshold, tail, result);
    }
    if (IsKnown(head)) return OfSegment(threshold, head, tail, result);
    return Refuse(threshold,
                  absl::StrFormat("no trace has a segment `%s`; `countrace "
                                  "report --by segment` shows what they have",
                                  base::EscapeName(where)));
  }

  bool IsKnown(const std::string& segment) const {
    return IsSegment(segment, before_) || IsSegment(segment, after_);
  }

  std::string KnownMetrics(const char* more) const {
    std::string text = more;
    for (const Metric& metric : metrics_) text += ", " + metric.name;
    return text;
  }

  absl::StatusOr<Samples> OfTotal(const Threshold& threshold,
                                  const std::string& name,
                                  ThresholdResult& result) const {
    result.subject = "all processes";
    if (name == "elapsed") {
      result.subject = "recording";
      result.metric = name;
      result.is_time = true;
      return Samples{ElapsedOf(before_), ElapsedOf(after_)};
    }
    auto index = MetricIndex(metrics_, name.empty() ? "on-CPU" : name);
    if (name.empty() && !index) index = MetricIndex(metrics_, "wall");
    if (!index) {
      return Refuse(threshold, absl::StrFormat(
                                   "`%s` is not known in all traces; known: %s",
                                   base::EscapeName(name),
                                   base::EscapeName(KnownMetrics("elapsed"))));
    }
    const Metric& metric = metrics_[*index];
    result.metric = metric.name;
    result.is_time = metric.is_time;
    auto before = TotalsOf(before_, metric), after = TotalsOf(after_, metric);
    if (!before || !after) {
      return Refuse(threshold, absl::StrFormat(
                                   "the total of %s is not known in all traces",
                                   base::EscapeName(metric.name)));
    }
    return Samples{*std::move(before), *std::move(after)};
  }

  absl::StatusOr<Samples> OfSegment(const Threshold& threshold,
                                    const std::string& segment,
                                    const std::string& name,
                                    ThresholdResult& result) const {
    result.subject = segment;
    std::vector<RowOfRun> before, after;
    for (const Report& report : before_) {
      if (auto row = WholeSegment(report, segment, metrics_)) {
        before.push_back(*std::move(row));
      }
    }
    for (const Report& report : after_) {
      if (auto row = WholeSegment(report, segment, metrics_)) {
        after.push_back(*std::move(row));
      }
    }
    if (before.size() != before_.size() || after.size() != after_.size()) {
      return Refuse(
          threshold,
          absl::StrFormat("`%s` is in %d of %d traces before and %d "
                          "of %d after; it must be in all of them",
                          base::EscapeName(segment), before.size(),
                          before_.size(), after.size(), after_.size()));
    }
    if (name == "calls") {
      result.metric = name;
      return Samples{CallsOf(before), CallsOf(after)};
    }
    const auto index = MetricIndex(metrics_, name);
    if (!index) {
      return Refuse(threshold, absl::StrFormat(
                                   "`%s` is not known in all traces; known: %s",
                                   base::EscapeName(name),
                                   base::EscapeName(KnownMetrics("calls"))));
    }
    const Metric& metric = metrics_[*index];
    result.metric = metric.name;
    result.is_time = metric.is_time;
    result.per_call = true;
    auto of_before = PerCallOf(before, *index, Part::kInclusive);
    auto of_after = PerCallOf(after, *index, Part::kInclusive);
    if (!of_before || !of_after) {
      return Refuse(threshold,
                    absl::StrFormat("%s of `%s` is not known in all traces",
                                    base::EscapeName(metric.name),
                                    base::EscapeName(segment)));
    }
    return Samples{*std::move(of_before), *std::move(of_after)};
  }

  const std::vector<Report>& before_;
  const std::vector<Report>& after_;
  const std::vector<Metric>& metrics_;
};

}  // namespace

absl::StatusOr<Threshold> ParseThreshold(std::string_view text) {
  const std::string trimmed = Trimmed(text);
  const auto fail = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--threshold '%s': %s; write it like 5%%, 'total:elapsed 5%%' or "
        "'server:handle:wall 10%%'",
        base::EscapeName(text), why));
  };
  if (trimmed.empty() || trimmed.back() != '%') {
    return fail("it must end with a percentage");
  }
  // The number follows the last blank: "server:handle 10 %".
  const std::string body = Trimmed(trimmed.substr(0, trimmed.size() - 1));
  const auto blank = body.find_last_of(" \t");
  const std::string number =
      blank == std::string::npos ? body : body.substr(blank + 1);
  if (number.empty() ||
      number.find_first_not_of("0123456789.") != std::string::npos) {
    return fail("the percentage is no number");
  }
  char* end = nullptr;
  const double percent = std::strtod(number.c_str(), &end);
  if (*end != '\0' || !(percent <= 1e6)) {
    return fail("the percentage is no number");
  }
  return Threshold{
      trimmed, blank == std::string::npos ? "" : Trimmed(body.substr(0, blank)),
      percent};
}

absl::StatusOr<std::vector<ThresholdResult>> Judge(
    const std::vector<Threshold>& thresholds, const std::vector<Report>& before,
    const std::vector<Report>& after, const std::vector<Metric>& metrics) {
  const Judgement judgement(before, after, metrics);
  std::vector<ThresholdResult> results;
  for (const Threshold& threshold : thresholds) {
    auto result = judgement.Decide(
        threshold, kTail / static_cast<double>(thresholds.size()));
    if (!result.ok()) return result.status();
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace countrace::rmap::diff
