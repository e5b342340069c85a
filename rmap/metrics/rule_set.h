// Metric rules, checked: every name known, every unit right, no circle.
//
// In: rules as files and command lines give them. Out: rules whose names are
// bound, for each table they are for. A later rule replaces an earlier one of
// its name, so that a user's file can change a shipped metric.
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
// Rules that build on rules that build on rules ...
inline constexpr std::size_t kMaxRuleDepth = 32;

// As written.
struct RuleText {
  std::string name;
  base::SourcePlace name_place;
  std::string formula;
  base::SourcePlace formula_place;
  std::optional<std::string> unit;
  base::SourcePlace unit_place;
  // Absent: every table that has the names; of the trace alone if no name
  // differs from row to row.
  std::optional<ScopeSet> scopes;
  std::string description;
  std::string source;  // "default", the file, "--metric"
};

// What a name of a formula turned out to be, in one table.
struct Binding {
  enum class Kind : std::uint8_t { kNone, kMetric, kQuantity, kEvent };
  Kind kind = Kind::kNone;
  std::size_t rule = 0;    // kMetric
  Quantity quantity{};     // kQuantity
  std::string event;       // kEvent: as written
  Account account{};       // kEvent
  Scope scope{};           // table of the row it is taken from
  bool for_all = false;    // kMetric: one for all rows, so the trace's is meant
  bool other_row = false;  // that row is not the one the rule is for
  Dimensions dimensions;
};

struct Rule {
  RuleText text;
  Expression formula;
  MetricUnit unit;
  ScopeSet scopes = 0;
  Dimensions dimensions;
  // 1: over counts and quantities of one row; 2: over other metrics, other
  // rows, several traces, or statistics.
  int stage = 1;
  bool of_row = false;     // differs from row to row
  std::size_t height = 0;  // metrics below it, the longest way
  // Names of all inputs it comes down to, in the order of their first use.
  std::vector<std::string> needs;
  // For each table of `scopes`: one entry for each node of the formula.
  std::array<std::vector<Binding>, kScopes> bindings;
};

class RuleSet {
 public:
  // Errors: kInvalidArgument as ErrorAt(): a name that is taken or no word, a
  // formula that does not parse, a unit that is none.
  absl::Status Add(RuleText text);
  // Binds and checks all rules. `trace_events`: of the traces at hand, known
  // besides those of perf. Must come after the last Add().
  absl::Status Check(const std::vector<std::string>& trace_events);

  const std::vector<Rule>& rules() const { return rules_; }
  // Index in rules(), absent if there is none of this name.
  std::optional<std::size_t> Find(std::string_view name) const;

 private:
  enum class Visit : std::uint8_t { kNew, kOpen, kDone };

  absl::Status CheckRule(std::size_t index, std::size_t depth);
  // Binds `rule` in one table. Errors: as ErrorAt().
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
  std::vector<std::size_t> open_;  // rules under way, outermost first
  std::vector<std::string> trace_events_;
};

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_RULE_SET_H_
