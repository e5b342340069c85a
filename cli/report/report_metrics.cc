#include "cli/report/report_metrics.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/metric_options.h"
#include "cli/program/verb.h"
#include "rmap/columns/report_tables.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/metric_report.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/metrics/rule_file.h"

namespace countrace::cli {
namespace {

using rmap::ReportBy;
using rmap::metrics::NamedReport;
using rmap::metrics::Only;
using rmap::metrics::Rule;
using rmap::metrics::RuleSet;
using rmap::metrics::Scope;
using rmap::metrics::ScopeSet;

absl::StatusOr<ScopeSet> ScopesOf(const rmap::RenderOptions& options,
                                  const RuleSet& rules,
                                  const std::vector<std::size_t>& chosen) {
  if (options.by != ReportBy::kDefault) {
    for (const Scope scope : rmap::metrics::kAllScopes) {
      if (rmap::metrics::TableOf(scope) == options.by) return Only(scope);
    }
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s have no metrics; --by takes process, thread, segment, path or cpu "
        "here",
        rmap::TableName(options.by)));
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
  // A chosen metric is shown even if it does not belong to the table.
  for (const std::size_t rule : chosen) {
    const ScopeSet scopes = rules.rules()[rule].scopes;
    if ((scopes & shown) == 0) shown |= scopes;
  }
  return shown;
}

// Reports the user's metrics that the table does not show, with the reason.
void SayOtherScopes(const RuleSet& rules,
                    const std::vector<std::size_t>& chosen, ScopeSet scopes) {
  for (const std::size_t index : chosen) {
    const Rule& rule = rules.rules()[index];
    if ((rule.scopes & scopes) != 0 ||
        rule.text.source == rmap::metrics::kDefaultSource) {
      continue;
    }
    Say(kReportVerb.name,
        absl::StrFormat("metric `%s` is not of this table, only of %s",
                        rule.text.name,
                        rmap::metrics::ScopeNames(rule.scopes)));
  }
}

absl::StatusOr<std::string> Render(const ReportRequest& request,
                                   const RuleSet& rules,
                                   const RequestedRows& rows) {
  auto chosen = ChosenRules(request.metrics, rules);
  if (!chosen.ok()) return AsUsage(chosen.status());
  rmap::RenderOptions render = request.render;
  if (rows.selection) render.selection = &*rows.selection;
  const auto scopes = ScopesOf(render, rules, *chosen);
  if (!scopes.ok()) return AsUsage(scopes.status());
  SayOtherScopes(rules, *chosen, *scopes);
  const auto others = ReadOthers(request);
  if (!others.ok()) return others.status();
  std::vector<NamedReport> reports = {{"", &rows.report}};
  for (const OtherTrace& other : *others) {
    reports.push_back({other.label, other.report.get()});
  }
  rmap::metrics::Evaluator evaluator(rules, reports);
  return rmap::metrics::RenderMetrics({.rules = &rules,
                                       .report = &rows.report,
                                       .evaluator = &evaluator,
                                       .chosen = *std::move(chosen),
                                       .scopes = *scopes,
                                       .selection = render.selection},
                                      render);
}

}  // namespace

absl::StatusOr<std::vector<OtherTrace>> ReadOthers(
    const ReportRequest& request) {
  std::vector<OtherTrace> others;
  for (const std::string& with : request.metrics.traces) {
    const std::size_t equals = with.find('=');
    if (equals == with.npos || equals == 0) {
      return AsUsage(absl::InvalidArgumentError(
          absl::StrFormat("--with %s: write --with LABEL=TRACE", with)));
    }
    auto source = ReportSource::Open(*request.input, with.substr(equals + 1));
    if (!source.ok()) return source.status();
    auto report = source->Read({.gating = request.gating});
    if (!report.ok()) return report.status();
    others.push_back({with.substr(0, equals),
                      std::make_unique<rmap::Report>(*std::move(report))});
  }
  return others;
}

absl::StatusOr<ReportAnswer> ReportMetrics(const ReportRequest& request) {
  auto source = SourceOf(request);
  if (!source.ok()) return source.status();
  RuleSet rules = request.rules;
  const absl::Status fits = rules.Check(source->Events());
  if (!fits.ok()) return AsUsage(fits);
  const auto rows = ReadRows(request, request.render.by, *source);
  if (!rows.ok()) return rows.status();
  auto text = Render(request, rules, *rows);
  if (!text.ok()) return text.status();
  return AnswerOf(rows->report, *std::move(text));
}

}  // namespace countrace::cli
