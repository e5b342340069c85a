// The options of verbs that show metrics: rules, and the traces they need.
#ifndef COUNTRACE_CLI_PROGRAM_METRIC_OPTIONS_H_
#define COUNTRACE_CLI_PROGRAM_METRIC_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/metrics/rule_set.h"

namespace countrace::cli {

struct MetricChoice {
  std::string glob;                 // --metrics
  std::vector<std::string> rules;   // --metric
  std::vector<std::string> files;   // --rules
  std::vector<std::string> traces;  // --with
  std::string tree;                 // --tree
  bool picture = false;             // of the tree: --format svg

  bool wanted() const {
    return !glob.empty() || !rules.empty() || !files.empty() || !tree.empty();
  }
};

// Adds the shipped rules, those of a shipped tree, then those of files and of
// the command line, which may use or replace them. Names are not checked yet
// (RuleSet::Check).
absl::Status AddChosenRules(const MetricChoice& choice,
                            rmap::metrics::RuleSet& rules);

// Indexes of the rules to show: those --metrics selects, else the user's own.
// Errors: kInvalidArgument if no rule is selected.
absl::StatusOr<std::vector<std::size_t>> ChosenRules(
    const MetricChoice& choice, const rmap::metrics::RuleSet& rules);

// `countrace list metrics`: name, unit, formula, required events.
int ListMetrics(const MetricChoice& choice, const std::string& format);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_METRIC_OPTIONS_H_
