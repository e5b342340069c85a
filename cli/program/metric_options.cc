#include "cli/program/metric_options.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/nearest_name.h"
#include "cli/program/exit_status.h"
#include "cli/program/row_table.h"
#include "cli/program/verb_parser.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/tree_over_time.h"

namespace countrace::cli {

using rmap::metrics::Rule;
using rmap::metrics::RuleSet;

absl::Status AddChosenRules(const MetricChoice& choice, RuleSet& rules) {
  absl::Status status =
      rmap::metrics::AddTreeRules(choice.tree, choice.files, rules);
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
            : base::GlobMatches(choice.glob.c_str(), rule.text.name.c_str()) ||
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

int ListMetrics(const MetricChoice& choice, const std::string& format) {
  RuleSet rules;
  absl::Status status = AddChosenRules(choice, rules);
  if (status.ok()) status = rules.Check({});
  if (!status.ok()) return ReportFailure("list", status);
  // The text has the formula only; other formats have all fields.
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
