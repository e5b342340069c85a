#include "rmap/metrics/metric_data.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/report/selection_json.h"

namespace countrace::rmap::metrics {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "countrace.metrics/1";

Json ValueObject(const MetricValue& value) {
  if (!value.value) return {{"value", nullptr}, {"absent", value.absent}};
  Json object = {{"value", *value.value},
                 {"quality", QualityName(value.quality)}};
  if (value.standard_error) object["stderr"] = *value.standard_error;
  if (value.lo && value.hi) {
    object["lo"] = *value.lo;
    object["hi"] = *value.hi;
  }
  return object;
}

Json RuleObject(const Rule& rule) {
  Json scopes = Json::array();
  for (const Scope scope : kAllScopes) {
    if (Has(rule.scopes, scope)) scopes.push_back(ScopeName(scope));
  }
  return {{"metric", rule.text.name},
          {"unit", rule.unit.text},
          {"expr", rule.text.formula},
          {"scope", scopes},
          {"stage", rule.stage},
          {"needs", rule.needs},
          {"description", rule.text.description},
          {"source", rule.text.source}};
}

Json KeyObject(const Report& report, Scope scope, std::size_t row) {
  Json object = Json::object();
  for (const RowKey& key : KeysOf(report, scope, row)) {
    std::visit([&](const auto& value) { object[key.name] = value; }, key.value);
  }
  return object;
}

Json RowObject(const MetricReport& metrics, Scope scope, std::size_t row) {
  Json object = KeyObject(*metrics.report, scope, row);
  Json values = Json::object();
  for (const std::size_t index : metrics.chosen) {
    const Rule& rule = metrics.rules->rules()[index];
    if (!Has(rule.scopes, scope)) continue;
    values[rule.text.name] =
        ValueObject(metrics.evaluator->Value(index, scope, row));
  }
  object["metrics"] = std::move(values);
  return object;
}

Json StatisticsObject(const MetricReport& metrics, Scope scope) {
  Json object = Json::object();
  for (const std::size_t index : metrics.chosen) {
    const Rule& rule = metrics.rules->rules()[index];
    if (!Has(rule.scopes, scope)) continue;
    const MetricStatistics s =
        metrics.evaluator->Statistics(index, scope, ShownRows(metrics, scope));
    object[rule.text.name] = {
        {"count", ValueObject(s.count)},   {"mean", ValueObject(s.mean)},
        {"stddev", ValueObject(s.stddev)}, {"min", ValueObject(s.min)},
        {"max", ValueObject(s.max)},       {"p50", ValueObject(s.p50)},
        {"p90", ValueObject(s.p90)},       {"p99", ValueObject(s.p99)}};
  }
  return object;
}

Json TraceObject(const Report& report) {
  return {{"path", report.path},
          {"begin_ns", report.begin_ns},
          {"end_ns", report.end_ns},
          {"events", EventNames(report.events)}};
}

// ASCII only, like report_json.cc.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   Json::error_handler_t::replace);
}

std::string Line(const char* table, const Json& row) {
  Json object = {{"table", table}};
  object.update(row);
  return Dump(object, -1) + "\n";
}

std::string Number(const std::optional<double>& value) {
  return value ? absl::StrFormat("%.17g", *value) : "";
}

}  // namespace

std::string RowName(const Report& report, Scope scope, std::size_t row) {
  std::string name;
  for (const RowKey& key : KeysOf(report, scope, row)) {
    if (!name.empty()) name += ' ';
    name += key.name + "=";
    if (const auto* number = std::get_if<std::int64_t>(&key.value)) {
      name += std::to_string(*number);
    } else if (const auto* text = std::get_if<std::string>(&key.value)) {
      name += base::EscapeName(*text);
    } else {
      const auto& path = std::get<std::vector<std::string>>(key.value);
      for (std::size_t i = 0; i < path.size(); ++i) {
        name += (i == 0 ? "" : " > ") + base::EscapeName(path[i]);
      }
    }
  }
  return name;
}

std::string RenderMetricsJson(const MetricReport& metrics) {
  Json root = {{"schema", kSchema}, {"trace", TraceObject(*metrics.report)}};
  if (metrics.selection != nullptr) {
    root["where"] = where::SelectionObject(*metrics.selection);
  }
  Json rules = Json::array();
  for (const std::size_t index : metrics.chosen) {
    rules.push_back(RuleObject(metrics.rules->rules()[index]));
  }
  root["rules"] = std::move(rules);
  Json tables = Json::object(), statistics = Json::object();
  for (const Scope scope : kAllScopes) {
    if (!Has(metrics.scopes, scope) || !IsShown(metrics, scope)) continue;
    Json rows = Json::array();
    for (const std::size_t row : ShownRows(metrics, scope)) {
      rows.push_back(RowObject(metrics, scope, row));
    }
    tables[ScopeName(scope)] = std::move(rows);
    if (scope != Scope::kTrace) {
      statistics[ScopeName(scope)] = StatisticsObject(metrics, scope);
    }
  }
  root["tables"] = std::move(tables);
  root["statistics"] = std::move(statistics);
  return Dump(root, 1) + "\n";
}

std::string RenderMetricsJsonLines(const MetricReport& metrics) {
  Json schema = {{"schema", kSchema}};
  schema.update(TraceObject(*metrics.report));
  std::string out = Line("meta", schema);
  if (metrics.selection != nullptr) {
    out += Line("where", where::SelectionObject(*metrics.selection));
  }
  for (const std::size_t index : metrics.chosen) {
    out += Line("rules", RuleObject(metrics.rules->rules()[index]));
  }
  for (const Scope scope : kAllScopes) {
    if (!Has(metrics.scopes, scope) || !IsShown(metrics, scope)) continue;
    for (const std::size_t row : ShownRows(metrics, scope)) {
      out += Line(ScopeName(scope), RowObject(metrics, scope, row));
    }
  }
  return out;
}

std::string RenderMetricsCsv(const MetricReport& metrics) {
  std::string out =
      "table,row,metric,unit,value,quality,stderr,lo,hi,absent\r\n";
  for (const Scope scope : kAllScopes) {
    if (!Has(metrics.scopes, scope) || !IsShown(metrics, scope)) continue;
    for (const std::size_t row : ShownRows(metrics, scope)) {
      const std::string name = RowName(*metrics.report, scope, row);
      for (const std::size_t index : metrics.chosen) {
        const Rule& rule = metrics.rules->rules()[index];
        if (!Has(rule.scopes, scope)) continue;
        const MetricValue value = metrics.evaluator->Value(index, scope, row);
        out +=
            absl::StrFormat("%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\r\n",
                            ScopeName(scope), base::CsvField(name),
                            rule.text.name, rule.unit.text, Number(value.value),
                            value.value ? QualityName(value.quality) : "absent",
                            Number(value.standard_error), Number(value.lo),
                            Number(value.hi), base::CsvField(value.absent));
      }
    }
  }
  return out;
}

}  // namespace countrace::rmap::metrics
