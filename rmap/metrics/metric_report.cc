// The text rendering, and the choice of rendering.
#include "rmap/metrics/metric_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/metrics/metric_data.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/report/selection_text.h"

namespace countrace::rmap::metrics {
namespace {

using Align = base::TextTable::Align;

// Four significant digits, without an exponent in the usual range.
std::string Number(double value) {
  const double size = std::abs(value);
  if (size >= 10000 && size < 1e15) {
    const std::string digits =
        base::FormatCount(static_cast<std::uint64_t>(std::llround(size)));
    return value < 0 ? "-" + digits : digits;
  }
  return absl::StrFormat("%.4g", value);
}

std::string Suffix(const MetricUnit& unit) {
  if (unit.text == "percent") return " %";
  if (unit.text == "ratio" || unit.text == "count" || unit.text == "1") {
    return "";
  }
  return " " + unit.text;
}

std::string KeyText(const RowKey& key) {
  if (const auto* number = std::get_if<std::int64_t>(&key.value)) {
    return std::to_string(*number);
  }
  if (const auto* text = std::get_if<std::string>(&key.value)) {
    return base::EscapeName(*text);
  }
  std::string joined;
  for (const auto& name : std::get<std::vector<std::string>>(key.value)) {
    joined += (joined.empty() ? "" : " > ") + base::EscapeName(name);
  }
  return joined;
}

class TextMetrics {
 public:
  TextMetrics(const MetricReport& metrics, const RenderOptions& options)
      : metrics_(metrics), options_(options) {}

  std::string Render() {
    Absent();
    for (const Scope scope : kAllScopes) {
      if (Has(metrics_.scopes, scope)) Table(scope);
    }
    Selection();
    if (!nowhere_.empty()) {
      if (!out_.empty()) out_ += "\n";
      for (const auto& [rule, line] : nowhere_) out_ += line;
    }
    if (metrics_.report->loss.discarded_events != 0) {
      out_ += absl::StrFormat(
          "\n  (%s records were lost; countrace report says which)\n",
          base::FormatCount(metrics_.report->loss.discarded_events));
    }
    if (inexact_) {
      out_ +=
          "\n  (~: scaled or inferred; +-: standard error; [a, b]: the truth "
          "lies within, as records\n   were lost, or calls that were not "
          "counted may differ; b: no bound is known)\n";
    }
    return std::move(out_);
  }

 private:
  void Title(const std::string& title) {
    out_ += out_.empty() ? "" : "\n";
    out_ += options_.color ? "\x1b[1m" + title + "\x1b[0m\n" : title + "\n";
  }

  void Selection() {
    if (metrics_.selection == nullptr) return;
    std::vector<ReportBy> tables;
    for (const Scope scope : kAllScopes) {
      if (scope != Scope::kTrace && Has(metrics_.scopes, scope)) {
        tables.push_back(TableOf(scope));
      }
    }
    out_ += where::SelectionText(*metrics_.selection, tables, options_);
  }

  std::string Cell(std::size_t rule, const MetricValue& value) {
    inexact_ |= value.value && value.quality != Quality::kExact;
    return FormatMetric(value, metrics_.rules->rules()[rule].unit);
  }

  void Table(Scope scope) {
    std::vector<std::size_t> shown, gone;
    const std::vector<std::size_t> rows = ShownRows(metrics_, scope);
    if (rows.empty()) return;
    for (const std::size_t rule : metrics_.chosen) {
      if (!Has(metrics_.rules->rules()[rule].scopes, scope) ||
          nowhere_.count(rule) != 0) {
        continue;
      }
      (HasAnyValue(rule, scope) ? shown : gone).push_back(rule);
    }
    if (shown.empty() && gone.empty()) return;
    Title(absl::StrFormat("METRICS of %s",
                          scope == Scope::kTrace
                              ? "the trace"
                              : std::string("each ") + ScopeName(scope)));
    if (!shown.empty()) {
      scope == Scope::kTrace ? List(shown) : Grid(scope, rows, shown);
    }
    for (const std::size_t rule : gone) {
      out_ += AbsentLine(rule, scope);
    }
  }

  std::string AbsentLine(std::size_t rule, Scope scope) {
    return absl::StrFormat("  absent: %s: %s\n",
                           metrics_.rules->rules()[rule].text.name,
                           metrics_.evaluator->Value(rule, scope, 0).absent);
  }

  bool HasAnyValue(std::size_t rule, Scope scope) {
    for (const std::size_t row : ShownRows(metrics_, scope)) {
      if (metrics_.evaluator->Value(rule, scope, row).value) return true;
    }
    return false;
  }

  // Lists each metric that no table has once, at the end.
  void Absent() {
    for (const std::size_t rule : metrics_.chosen) {
      const ScopeSet scopes =
          metrics_.rules->rules()[rule].scopes & metrics_.scopes;
      std::string line;
      for (const Scope scope : kAllScopes) {
        if (!Has(scopes, scope) || ShownRows(metrics_, scope).empty()) {
          continue;
        }
        if (HasAnyValue(rule, scope)) {
          line.clear();
          break;
        }
        if (line.empty()) line = AbsentLine(rule, scope);
      }
      if (!line.empty()) nowhere_[rule] = std::move(line);
    }
  }

  // One line for each metric.
  void List(const std::vector<std::size_t>& shown) {
    base::TextTable table;
    table.AddColumn("metric", Align::kLeft);
    table.AddColumn("value", Align::kRight);
    table.AddColumn("", Align::kLeft);
    for (const std::size_t rule : shown) {
      const RuleText& text = metrics_.rules->rules()[rule].text;
      table.AddRow(
          {text.name,
           Cell(rule, metrics_.evaluator->Value(rule, Scope::kTrace, 0)),
           base::EscapeName(text.description.empty() ? text.formula
                                                     : text.description)});
    }
    out_ += table.Render(options_.width, options_.color);
  }

  void Grid(Scope scope, const std::vector<std::size_t>& rows,
            const std::vector<std::size_t>& shown) {
    const std::size_t limit = options_.max_rows == 0
                                  ? rows.size()
                                  : std::min(rows.size(), options_.max_rows);
    base::TextTable table;
    for (const RowKey& key : KeysOf(*metrics_.report, scope, rows[0])) {
      const bool number = std::holds_alternative<std::int64_t>(key.value);
      table.AddColumn(key.name == "comm" ? "command" : key.name,
                      number ? Align::kRight : Align::kLeft);
    }
    bool first = true;
    for (const std::size_t rule : shown) {
      table.AddColumn(metrics_.rules->rules()[rule].text.name, Align::kRight,
                      !std::exchange(first, false));
    }
    for (std::size_t i = 0; i < limit; ++i) {
      const std::size_t row = rows[i];
      std::vector<std::string> cells;
      for (const RowKey& key : KeysOf(*metrics_.report, scope, row)) {
        cells.push_back(KeyText(key));
      }
      for (const std::size_t rule : shown) {
        cells.push_back(
            Cell(rule, metrics_.evaluator->Value(rule, scope, row)));
      }
      table.AddRow(std::move(cells));
    }
    out_ += table.Render(options_.width, options_.color);
    if (limit < rows.size()) {
      out_ += absl::StrFormat("  (%s more rows not shown)\n",
                              base::FormatCount(rows.size() - limit));
    }
    if (rows.size() > 1) Statistics(scope, rows, shown);
  }

  void Statistics(Scope scope, const std::vector<std::size_t>& rows,
                  const std::vector<std::size_t>& shown) {
    base::TextTable table;
    table.AddColumn(absl::StrFormat("over each %s", ScopeName(scope)),
                    Align::kLeft);
    for (const char* name :
         {"count", "mean", "stddev", "min", "p50", "p90", "p99", "max"}) {
      table.AddColumn(name, Align::kRight);
    }
    for (const std::size_t rule : shown) {
      const MetricStatistics s =
          metrics_.evaluator->Statistics(rule, scope, rows);
      table.AddRow({metrics_.rules->rules()[rule].text.name,
                    FormatMetric(s.count, {}), Cell(rule, s.mean),
                    Cell(rule, s.stddev), Cell(rule, s.min), Cell(rule, s.p50),
                    Cell(rule, s.p90), Cell(rule, s.p99), Cell(rule, s.max)});
    }
    out_ += "\n" + table.Render(options_.width, options_.color);
  }

  const MetricReport& metrics_;
  const RenderOptions& options_;
  std::string out_;
  std::map<std::size_t, std::string> nowhere_;  // by rule: "absent: ..."
  bool inexact_ = false;
};

}  // namespace

std::string FormatMetric(const MetricValue& value, const MetricUnit& unit) {
  if (!value.value) return "-";
  const std::string suffix = Suffix(unit);
  const std::string number = Number(*value.value);
  switch (value.quality) {
    case Quality::kExact:
      return number + suffix;
    case Quality::kScaled:
      if (!value.standard_error) return "~" + number + suffix;
      return absl::StrFormat("%s +- %.2g%s", number, *value.standard_error,
                             suffix);
    case Quality::kBounded:
      if (!value.lo || !value.hi) return "~" + number + suffix + " b";
      return absl::StrFormat("[%s, %s]%s", Number(*value.lo), Number(*value.hi),
                             suffix);
    case Quality::kInferred:
      return "~" + number + suffix;
  }
  return "-";
}

std::string RenderMetrics(const MetricReport& metrics,
                          const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return TextMetrics(metrics, options).Render();
    case ReportFormat::kJson:
      return RenderMetricsJson(metrics);
    case ReportFormat::kJsonLines:
      return RenderMetricsJsonLines(metrics);
    case ReportFormat::kCsv:
      return RenderMetricsCsv(metrics);
  }
  return "";
}

}  // namespace countrace::rmap::metrics
