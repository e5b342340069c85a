#include "cli/metric_options.h"

#include <fnmatch.h>

#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/nearest_name.h"
#include "cli/exit_status.h"
#include "cli/open_trace.h"
#include "cli/row_table.h"
#include "cli/verb_parser.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/metric_report.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/pipeline.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;
using rmap::metrics::Only;
using rmap::metrics::Rule;
using rmap::metrics::RuleSet;
using rmap::metrics::Scope;
using rmap::metrics::ScopeSet;

absl::StatusOr<ScopeSet> ScopesOf(const rmap::RenderOptions& options,
                                  const RuleSet& rules,
                                  const std::vector<std::size_t>& chosen) {
  switch (options.by) {
    case ReportBy::kProcess:
      return Only(Scope::kProcess);
    case ReportBy::kThread:
      return Only(Scope::kThread);
    case ReportBy::kSegment:
      return Only(Scope::kSegment);
    case ReportBy::kPath:
      return Only(Scope::kPath);
    case ReportBy::kCpu:
      return Only(Scope::kCpu);
    case ReportBy::kHook:
      return absl::InvalidArgumentError(
          "a hook has no metrics; --by takes process, thread, segment, path "
          "or cpu here");
    case ReportBy::kWaker:
      return absl::InvalidArgumentError(
          "a waker has no metrics; --by takes process, thread, segment, path "
          "or cpu here");
    case ReportBy::kDefault:
      break;
  }
  if (options.format != rmap::ReportFormat::kText) {
    return rmap::metrics::kEveryScope;
  }
  if (options.selection != nullptr) {
    ScopeSet selected = 0;
    for (const Scope scope : rmap::metrics::kAllScopes) {
      if (scope == Scope::kTrace) continue;
      if (options.selection->Of(rmap::metrics::TableOf(scope)).applies()) {
        selected |= Only(scope);
      }
    }
    return selected;
  }
  ScopeSet shown =
      Only(Scope::kTrace) | Only(Scope::kProcess) | Only(Scope::kSegment);
  // Nobody asks for a metric in order not to see it.
  for (const std::size_t rule : chosen) {
    const ScopeSet scopes = rules.rules()[rule].scopes;
    if ((scopes & shown) == 0) shown |= scopes;
  }
  return shown;
}

}  // namespace

absl::Status AddChosenRules(const MetricChoice& choice, RuleSet& rules) {
  absl::Status status = rmap::metrics::AddDefaultRules(rules);
  for (const std::string& file : choice.files) {
    if (!status.ok()) return status;
    status = rmap::metrics::AddRuleFile(file, rules);
  }
  for (const std::string& rule : choice.rules) {
    if (!status.ok()) return status;
    status = rmap::metrics::AddCommandLineRule(rule, rules);
  }
  return status;
}

absl::StatusOr<std::vector<std::size_t>> ChosenRules(const MetricChoice& choice,
                                                     const RuleSet& rules) {
  std::vector<std::size_t> chosen;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rules.rules().size(); ++i) {
    const Rule& rule = rules.rules()[i];
    names.push_back(rule.text.name);
    const bool own = rule.text.source != rmap::metrics::kDefaultSource;
    const bool selected =
        choice.glob.empty()
            ? own
            : fnmatch(choice.glob.c_str(), rule.text.name.c_str(), 0) == 0 ||
                  (own && rule.text.source == "--metric");
    if (selected) chosen.push_back(i);
  }
  if (!chosen.empty()) return chosen;
  if (choice.glob.empty()) {
    return absl::InvalidArgumentError("the rule files hold no metric");
  }
  const std::string_view nearest = base::NearestName(choice.glob, names);
  return absl::InvalidArgumentError(absl::StrFormat(
      "no metric matches `%s`; %s", choice.glob,
      nearest.empty() ? "see `countrace list metrics`"
                      : absl::StrFormat("did you mean `%s`?", nearest)));
}

absl::StatusOr<std::string> RenderChosenMetrics(
    const MetricChoice& choice, const RuleSet& rules,
    const rmap::Report& report, const rmap::RenderOptions& options,
    const rmap::GatingRequest& gating) {
  auto chosen = ChosenRules(choice, rules);
  if (!chosen.ok()) return chosen.status();
  const auto scopes = ScopesOf(options, rules, *chosen);
  if (!scopes.ok()) return scopes.status();
  for (const std::size_t index : *chosen) {
    const Rule& rule = rules.rules()[index];
    if ((rule.scopes & *scopes) == 0 &&
        rule.text.source != rmap::metrics::kDefaultSource) {
      Say("report",
          absl::StrFormat("metric `%s` is not of this table, only of %s",
                          rule.text.name,
                          rmap::metrics::ScopeNames(rule.scopes)));
    }
  }

  std::vector<std::unique_ptr<rmap::Report>> others;
  std::vector<rmap::metrics::NamedReport> reports = {{"", &report}};
  for (const std::string& with : choice.traces) {
    const std::size_t equals = with.find('=');
    if (equals == with.npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--with %s: write --with LABEL=TRACE", with));
    }
    auto reader = OpenTrace("report", with.substr(equals + 1));
    if (!reader.ok()) return reader.status();
    auto other = rmap::Reconstruct(**reader, {.gating = gating});
    if (!other.ok()) return other.status();
    others.push_back(std::make_unique<rmap::Report>(*std::move(other)));
    reports.push_back({with.substr(0, equals), others.back().get()});
  }
  rmap::metrics::Evaluator evaluator(rules, reports);
  return rmap::metrics::RenderMetrics({.rules = &rules,
                                       .report = &report,
                                       .evaluator = &evaluator,
                                       .chosen = *std::move(chosen),
                                       .scopes = *scopes,
                                       .selection = options.selection},
                                      options);
}

int ListMetrics(const MetricChoice& choice, const std::string& format) {
  RuleSet rules;
  absl::Status status = AddChosenRules(choice, rules);
  if (status.ok()) status = rules.Check({});
  if (!status.ok()) return ReportFailure("list", status);
  // People read the formula; programs get everything.
  const bool text = format == "text";
  std::vector<std::string> columns = {"metric", "unit", "expr", "needs"};
  if (!text) {
    for (const char* more : {"scope", "stage", "description", "source"}) {
      columns.emplace_back(more);
    }
  }
  RowTable table("countrace.metric_rules/1", "metrics", columns);
  for (const Rule& rule : rules.rules()) {
    std::string needs;
    for (const std::string& need : rule.needs) {
      needs += (needs.empty() ? "" : ", ") + need;
    }
    std::vector<Cell> row = {rule.text.name, rule.unit.text, rule.text.formula,
                             needs};
    if (!text) {
      row.emplace_back(rmap::metrics::ScopeNames(rule.scopes));
      row.emplace_back(static_cast<std::uint64_t>(rule.stage));
      row.emplace_back(rule.text.description);
      row.emplace_back(rule.text.source);
    }
    table.Add(std::move(row));
  }
  return PrintData("list", table.Render(format));
}

}  // namespace countrace::cli
