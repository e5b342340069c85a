// Evaluates checked rules over the rows of one or more reports.
//
// In: a RuleSet after Check(), reports. Out: one value for each rule and row,
// with its quality, or why there is none. An unknown value is never 0.
// Thread: one. Requires: rules and reports outlive it.
#ifndef COUNTRACE_RMAP_METRICS_EVALUATOR_H_
#define COUNTRACE_RMAP_METRICS_EVALUATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/metrics/estimate.h"
#include "rmap/metrics/row_inputs.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::metrics {

// In the rule's unit.
struct MetricValue {
  std::optional<double> value;
  Quality quality = Quality::kExact;
  std::optional<double> standard_error;  // for scaled values
  std::optional<double> lo, hi;          // for bounded values
  std::string absent;  // without a value: the reason, "needs cycles"
};

// Statistics of a metric's values over the rows of a table; rows without a
// value are left out. stddev is the population's, percentiles are by nearest
// rank.
struct MetricStatistics {
  MetricValue count, mean, stddev, min, max, p50, p90, p99;
};

struct NamedReport {
  std::string label;  // for "@label.metric" in a rule
  const Report* report = nullptr;
};

class Evaluator {
 public:
  // The first report's rows are evaluated. Rules can use the others as @label,
  // and all of them in traces.NAME.
  Evaluator(const RuleSet& rules, const std::vector<NamedReport>& reports);

  // Requires: the rule has the scope; row < RowCount(scope).
  MetricValue Value(std::size_t rule, Scope scope, std::size_t row);
  MetricStatistics Statistics(std::size_t rule, Scope scope);
  // The same in another report, of the trace.
  MetricValue ValueIn(std::size_t trace, std::size_t rule) {
    return Shown(Evaluated(rule, {trace, Scope::kTrace, 0}),
                 rules_.rules()[rule].unit);
  }

  // Joins runs that counted different events: an event is divided by the value
  // of `divisor` in its own run, the first that has both; of the trace, any
  // run, else the first. `spread`: relative standard deviation of the runs; the
  // error that what is not of the first run has.
  // Requires: the rule uses only events, and each of its terms is one count.
  MetricValue Joined(std::size_t rule, std::size_t divisor, double spread,
                     Scope scope, std::size_t row);
  // Over a part of the table's rows.
  MetricStatistics Statistics(std::size_t rule, Scope scope,
                              const std::vector<std::size_t>& rows);
  std::size_t RowCount(Scope scope) const { return inputs_[0].RowCount(scope); }

 private:
  // An estimate, or the names that are missing, or another reason.
  struct Outcome {
    std::optional<Estimate> estimate;
    std::vector<std::string> needs;
    std::string reason;
  };
  struct Where {
    std::size_t trace = 0;
    Scope scope{};
    std::size_t row = 0;
    std::size_t divisor = 0;  // of `divisors_`, from 1; 0: not joined
  };

  const Outcome& Evaluated(std::size_t rule, const Where& where);
  Outcome Compute(std::size_t rule, const Where& where);
  Outcome Leaf(const Node& node, const Binding& binding, const Where& where);
  Outcome InputOf(const Binding& binding, const Where& where);
  Outcome JoinedInput(const Binding& binding, const Where& where);
  const Outcome& StatisticOf(const Node& node, const Binding& binding,
                             const Where& where);
  Outcome StatisticOver(Statistic statistic, const Binding& binding,
                        const std::vector<Where>& rows);
  static Outcome Reduced(Statistic statistic,
                         const std::vector<const Estimate*>& values);
  static Outcome Applied(const Node& node, const Expression& formula,
                         std::vector<Outcome>& operands);
  MetricValue Shown(const Outcome& outcome, const MetricUnit& unit) const;
  std::uint64_t NewInput(const Measured& input, const Where& where,
                         const Binding& binding);

  const RuleSet& rules_;
  std::vector<std::string> labels_;
  std::vector<RowInputs> inputs_;  // one for each report
  InputErrors errors_;
  using InputKey = std::tuple<std::size_t, Scope, std::size_t, std::string>;
  std::map<InputKey, std::uint64_t> input_ids_;
  std::vector<std::size_t> divisors_;  // rules
  double spread_ = 0;
  std::map<std::size_t, std::uint64_t> run_inputs_;  // by trace
  // By divisor, trace and scope; each has RowCount() * rules entries.
  std::vector<std::vector<std::unique_ptr<Outcome>>> known_;
  using StatisticKey =
      std::tuple<std::size_t, bool, Scope, Statistic, std::string>;
  std::map<StatisticKey, Outcome> statistics_;
};

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_EVALUATOR_H_
