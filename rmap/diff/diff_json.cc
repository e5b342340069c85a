#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rmap/diff/diff_render.h"

namespace countrace::rmap::diff {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "countrace.diff/1";

// JSON has no infinity: null means "no bound".
Json Bound(double value) { return std::isinf(value) ? Json() : Json(value); }

const char* UnitName(bool is_time) { return is_time ? "ns" : "count"; }

Json ChangeObject(const Change& change) {
  Json object = {
      {"before", change.before},
      {"after", change.after},
      {"change", change.value()},
      {"interval", nullptr},
      {"p", change.p ? Json(*change.p) : Json()},
      {"detectable", change.detectable ? Json(*change.detectable) : Json()},
      {"constant", change.constant},
      {"verdict", VerdictName(change.verdict)},
      {"quality", QualityName(change.quality)}};
  if (change.error_before.any() || change.error_after.any()) {
    object["stderr"] = {{"before", Bound(change.error_before.StandardError())},
                        {"after", Bound(change.error_after.StandardError())}};
  }
  if (change.interval) {
    object["interval"] = {Bound(change.interval->low),
                          Bound(change.interval->high)};
    if (change.before > 0) {
      object["ratio_interval"] = {
          std::max(0.0, change.interval->low / change.before + 1),
          Bound(change.interval->high / change.before + 1)};
    }
  }
  return object;
}

Json MetricObject(const MetricChange& metric, bool total) {
  Json object = {{"metric", metric.metric}, {"unit", UnitName(metric.is_time)}};
  object["self"] = ChangeObject(metric.self);
  if (total) return object;
  object["per_call"] =
      metric.per_call ? ChangeObject(*metric.per_call) : Json();
  object["inclusive"] = {{"before", metric.incl_before},
                         {"after", metric.incl_after}};
  object["share"] = metric.share ? Json(*metric.share) : Json();
  return object;
}

const char* PresenceName(RowChange::Presence presence) {
  switch (presence) {
    case RowChange::Presence::kBoth:
      return "both";
    case RowChange::Presence::kOnlyBefore:
      return "only_before";
    case RowChange::Presence::kOnlyAfter:
      return "only_after";
  }
  return "?";
}

Json RowObject(const RowChange& row, bool all) {
  Json metrics = Json::array();
  for (const MetricChange& metric : row.metrics) {
    if (all || metric.Differs()) {
      metrics.push_back(MetricObject(metric, false));
    }
  }
  return {{"process", row.process},
          {"path", row.path},
          {"presence", PresenceName(row.presence)},
          {"small", row.small},
          {"metrics", std::move(metrics)}};
}

Json AccountsObject(const Accounts& accounts) {
  return {{"total", Signed(accounts.total)},
          {"segments", Signed(accounts.segments)},
          {"not_in_segments", Signed(accounts.not_in_segments)},
          {"idle", Signed(accounts.idle)},
          {"interrupts", Signed(accounts.interrupts)},
          {"outside", Signed(accounts.outside)},
          {"unattributed", Signed(accounts.unattributed)},
          {"residual", Signed(accounts.residual)},
          {"unexplained", Signed(accounts.Unexplained())}};
}

const char* VerdictName(ThresholdVerdict verdict) {
  switch (verdict) {
    case ThresholdVerdict::kHolds:
      return "holds";
    case ThresholdVerdict::kUndecided:
      return "undecided";
    case ThresholdVerdict::kRegression:
      return "regression";
  }
  return "?";
}

Json ThresholdObject(const ThresholdResult& result) {
  Json object = {{"threshold", result.text},
                 {"subject", result.subject},
                 {"metric", result.metric},
                 {"unit", UnitName(result.is_time)},
                 {"per_call", result.per_call},
                 {"percent", result.percent},
                 {"verdict", VerdictName(result.verdict)}};
  object.update(Json{{"measured", ChangeObject(result.change)}});
  return object;
}

Json TraceObjects(const std::vector<TraceOfSide>& traces) {
  Json array = Json::array();
  for (const TraceOfSide& trace : traces) {
    array.push_back({{"path", trace.path},
                     {"scope", trace.scope},
                     {"command", trace.command},
                     {"hostname", trace.hostname},
                     {"kernel_release", trace.kernel_release},
                     {"cpus", trace.cpus},
                     {"begin_ns", trace.begin_ns},
                     {"end_ns", trace.end_ns},
                     {"records", trace.records},
                     {"discarded_events", trace.discarded_events},
                     {"discarded_packets", trace.discarded_packets}});
  }
  return array;
}

}  // namespace

std::string RenderDiffJson(const Diff& diff, const DiffRenderOptions& options) {
  Json totals = Json::array(), rows = Json::array(), balance = Json::array();
  Json thresholds = Json::array(), advice = Json::array();
  for (const MetricChange& total : diff.totals) {
    totals.push_back(MetricObject(total, true));
  }
  for (const RowChange& row : diff.rows) {
    if (options.all || row.Differs()) {
      rows.push_back(RowObject(row, options.all));
    }
  }
  for (const Balance& entry : diff.balances) {
    balance.push_back({{"metric", entry.metric},
                       {"unit", UnitName(entry.is_time)},
                       {"before", AccountsObject(entry.before)},
                       {"after", AccountsObject(entry.after)}});
  }
  for (const ThresholdResult& result : diff.thresholds) {
    thresholds.push_back(ThresholdObject(result));
  }
  for (const RunsNeeded& needed : diff.advice) {
    advice.push_back({{"change", needed.change},
                      {"deviation", needed.deviation},
                      {"runs", needed.runs}});
  }
  const Json root = {{"schema", kSchema},
                     {"before", TraceObjects(diff.before)},
                     {"after", TraceObjects(diff.after)},
                     {"explanations", diff.explanations},
                     {"totals", std::move(totals)},
                     {"rows", std::move(rows)},
                     {"rows_within_noise", diff.rows_within_noise},
                     {"balance", std::move(balance)},
                     {"thresholds", std::move(thresholds)},
                     {"regression", diff.HasRegression()},
                     {"tests", diff.tests},
                     {"discoveries", diff.discoveries},
                     {"interval_tail", diff.tail},
                     {"interval_tail_of_small_rows", diff.tail_of_small_rows},
                     {"runs_needed", std::move(advice)},
                     {"notes", diff.notes}};
  // ASCII only, so that no name can control a terminal.
  return root.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace countrace::rmap::diff
