// Metric rules, checked: every name is known, units fit, there is no circle.
//
// In: rules from files and command lines. Out: rules whose names are bound, for
// each of their tables. A later rule replaces an earlier one of the same name,
// so that a user's file can change a shipped metric.
// Thread: one while rules are added; const afterwards.
#ifndef COUNTRACE_RMAP_METRICS_RULE_SET_H_
#define COUNTRACE_RMAP_METRICS_RULE_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/metrics/expression.h"
#include "rmap/metrics/metric_unit.h"
#include "rmap/metrics/quantities.h"

namespace countrace::rmap::metrics {

inline constexpr std::size_t kMaxRules = 1000;
// Depth of rules that build on other rules.
inline constexpr std::size_t kMaxRuleDepth = 32;

// A rule as written.
struct RuleText {
  std::string name;
  base::SourcePlace name_place;
  std::string formula;
  base::SourcePlace formula_place;
  std::optional<std::string> unit;
  base::SourcePlace unit_place;
  // Absent: every table that has the names; only the trace if no name differs
  // from row to row.
  std::optional<ScopeSet> scopes;
  std::string description;
  // For trees (rule_tree.h): the node above it, and what users call it ("C1A");
  // a root has its tree, and the metric that its parts are divided by.
  std::string parent, code, tree, per;
  base::SourcePlace parent_place;  // of `parent` or `per`
  std::string source;              // "default", the file, "--metric"
};

// The meaning of a name in a formula, in one table.
struct Binding {
  enum class Kind : std::uint8_t { kNone, kMetric, kQuantity, kEvent };
  Kind kind = Kind::kNone;
  std::size_t rule = 0;  // kMetric
  Quantity quantity{};   // kQuantity
  std::string event;     // kEvent: as written
  Account account{};     // kEvent
  Scope scope{};         // table of the row with the value
  bool for_all = false;  // kMetric: the same for all rows, taken from the trace
  bool other_row = false;  // the value is from another row than the rule's
  Dimensions dimensions;
};

struct Rule {
  RuleText text;
  Expression formula;
  MetricUnit unit;
  ScopeSet scopes = 0;
  Dimensions dimensions;
  // 1: from counts and quantities of one row; 2: from other metrics, other
  // rows, several traces, or statistics.
  int stage = 1;
  bool of_row = false;     // differs from row to row
  std::size_t height = 0;  // longest chain of metrics below it
  // Names of all inputs, direct or not, in the order of first use.
  std::vector<std::string> needs;
  // For each table of `scopes`: one entry for each node of the formula.
  std::array<std::vector<Binding>, kScopes> bindings;
};

class RuleSet {
 public:
  // Errors: kInvalidArgument, those of ErrorAt(): the name is in use or no
  // word, the formula does not parse, the unit is none.
  absl::Status Add(RuleText text);
  // Binds and checks all rules. `trace_events`: events of the traces, known in
  // addition to perf's. Call after the last Add().
  absl::Status Check(const std::vector<std::string>& trace_events);

  const std::vector<Rule>& rules() const { return rules_; }
  // Index in rules(); absent if there is none of this name.
  std::optional<std::size_t> Find(std::string_view name) const;

 private:
  enum class Visit : std::uint8_t { kNew, kOpen, kDone };

  absl::Status CheckRule(std::size_t index, std::size_t depth);
  // Binds `rule` in one table. Errors: those of ErrorAt().
  absl::StatusOr<Dimensions> CheckIn(Rule& rule, Scope scope,
                                     std::size_t depth);
  absl::StatusOr<Binding> Bind(const Rule& rule, const Node& node, Scope scope,
                               std::size_t depth);
  bool IsOfRow(const Binding& binding) const;
  absl::StatusOr<Binding> BindMetric(const Rule& rule, const Node& node,
                                     Scope scope, std::size_t metric,
                                     std::size_t depth);
  absl::Status Unknown(const Rule& rule, const Node& node, Scope scope) const;

  std::vector<Rule> rules_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<Visit> visits_;
  std::vector<std::size_t> open_;  // rules being checked, outermost first
  std::vector<std::string> trace_events_;
};

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_RULE_SET_H_
