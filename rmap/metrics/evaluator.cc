// More than 400 lines: one class, which evaluates rules by recursion.
#include "rmap/metrics/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/metrics/event_names.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::metrics {
namespace {

constexpr std::size_t kMaxNeedsNamed = 8;

std::string KeyOf(const Binding& binding) {
  switch (binding.kind) {
    case Binding::Kind::kMetric:
      return absl::StrFormat("m%d", binding.rule);
    case Binding::Kind::kQuantity:
      return absl::StrFormat("q%d", static_cast<int>(binding.quantity));
    case Binding::Kind::kEvent:
      return absl::StrFormat("e%d:%s", static_cast<int>(binding.account),
                             CanonicalEvent(binding.event));
    case Binding::Kind::kNone:
      break;
  }
  return "";
}

// The name of the formula's divisor, if it is one name.
std::string DivisorName(const Expression& formula, const Node& node) {
  const std::size_t at = static_cast<std::size_t>(&node - formula.nodes.data());
  const Node& divisor = formula.nodes[at - 1];
  if (divisor.operation != Operation::kName) return "the divisor";
  return "`" + base::EscapeName(divisor.name) + "`";
}

double NearestRank(std::vector<double> values, double fraction) {
  const std::size_t rank = static_cast<std::size_t>(
      std::max(1.0, std::ceil(fraction * static_cast<double>(values.size()))));
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                   values.end());
  return values[rank - 1];
}

// Slopes of a weighted sum, sorted once for any number of rows.
std::vector<std::pair<std::uint64_t, double>> Combined(
    const std::vector<const Estimate*>& values,
    const std::vector<double>& factors) {
  std::vector<std::pair<std::uint64_t, double>> all, sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const auto& [id, slope] : values[i]->slopes) {
      all.emplace_back(id, slope * factors[i]);
    }
  }
  std::sort(all.begin(), all.end());
  for (const auto& [id, slope] : all) {
    if (sums.empty() || sums.back().first != id) sums.emplace_back(id, 0);
    sums.back().second += slope;
  }
  return sums;
}

// `out`: has the quality of `values`, whose points are `points`.
void SetStddev(const std::vector<double>& points,
               const std::vector<const Estimate*>& values, Estimate& out) {
  const double count = static_cast<double>(points.size());
  const double sum = std::accumulate(points.begin(), points.end(), 0.0);
  const double mean = sum / count;
  double squares = 0;
  for (const double point : points) {
    squares += (point - mean) * (point - mean);
  }
  out.value = std::sqrt(squares / count);
  // Not monotone: it is exact only if all values are.
  if (out.quality == Quality::kExact) {
    out.interval = Interval{out.value, out.value};
  }
  if (out.value > 0) {
    std::vector<double> factors;
    for (const double point : points) {
      factors.push_back((point - mean) / (count * out.value));
    }
    out.slopes = Combined(values, factors);
  }
}

}  // namespace

Evaluator::Evaluator(const RuleSet& rules,
                     const std::vector<NamedReport>& reports)
    : rules_(rules) {
  for (const NamedReport& report : reports) {
    labels_.push_back(report.label);
    inputs_.emplace_back(*report.report);
  }
  known_.resize(reports.size() * kScopes);
}

MetricValue Evaluator::Value(std::size_t rule, Scope scope, std::size_t row) {
  return Shown(Evaluated(rule, {0, scope, row}), rules_.rules()[rule].unit);
}

MetricStatistics Evaluator::Statistics(std::size_t rule, Scope scope) {
  std::vector<std::size_t> rows(RowCount(scope));
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return Statistics(rule, scope, rows);
}

MetricStatistics Evaluator::Statistics(std::size_t rule, Scope scope,
                                       const std::vector<std::size_t>& rows) {
  const MetricUnit& unit = rules_.rules()[rule].unit;
  std::vector<Where> places;
  for (const std::size_t row : rows) places.push_back({0, scope, row});
  const auto of = [&](Statistic statistic, const MetricUnit& shown) {
    Binding binding;
    binding.kind = Binding::Kind::kMetric;
    binding.rule = rule;
    binding.scope = scope;
    return Shown(StatisticOver(statistic, binding, places), shown);
  };
  return {of(Statistic::kCount, MetricUnit{}), of(Statistic::kMean, unit),
          of(Statistic::kStddev, unit),        of(Statistic::kMin, unit),
          of(Statistic::kMax, unit),           of(Statistic::kP50, unit),
          of(Statistic::kP90, unit),           of(Statistic::kP99, unit)};
}

const Evaluator::Outcome& Evaluator::Evaluated(std::size_t rule,
                                               const Where& where) {
  auto& table =
      known_[(where.divisor * inputs_.size() + where.trace) * kScopes +
             static_cast<std::size_t>(where.scope)];
  const std::size_t rules = rules_.rules().size();
  if (table.empty()) {
    table.resize(inputs_[where.trace].RowCount(where.scope) * rules);
  }
  const std::size_t at = where.row * rules + rule;
  // This ends, because RuleSet rejects circles.
  if (table[at] == nullptr) {
    auto outcome = std::make_unique<Outcome>(Compute(rule, where));
    table[at] = std::move(outcome);
  }
  return *table[at];
}

Evaluator::Outcome Evaluator::Compute(std::size_t index, const Where& where) {
  const Rule& rule = rules_.rules()[index];
  const auto& bindings = rule.bindings[static_cast<std::size_t>(where.scope)];
  std::vector<Outcome> stack;
  for (std::size_t i = 0; i < rule.formula.nodes.size(); ++i) {
    const Node& node = rule.formula.nodes[i];
    if (node.operands == 0) {
      stack.push_back(Leaf(node, bindings[i], where));
      continue;
    }
    std::vector<Outcome> operands(
        std::make_move_iterator(stack.end() - node.operands),
        std::make_move_iterator(stack.end()));
    stack.resize(stack.size() - node.operands);
    stack.push_back(Applied(node, rule.formula, operands));
  }
  return std::move(stack.back());
}

Evaluator::Outcome Evaluator::Leaf(const Node& node, const Binding& binding,
                                   const Where& where) {
  // A value of another row is no part of this one's total.
  if (where.divisor != 0 &&
      (!node.trace.empty() || node.operation == Operation::kStatistic ||
       (node.operation == Operation::kNumber &&
        node.dimensions != Dimensions{}))) {
    return {{}, {}, "a tree has events of its own row only"};
  }
  if (node.operation == Operation::kNumber) {
    return {Constant(node.number), {}, ""};
  }
  Where from = where;
  if (!node.trace.empty()) {
    const auto label = std::find(labels_.begin(), labels_.end(), node.trace);
    if (label == labels_.end()) {
      const std::string name = base::EscapeName(node.trace);
      return {
          {}, {absl::StrFormat("trace %s (--with %s=TRACE)", name, name)}, ""};
    }
    from.trace = static_cast<std::size_t>(label - labels_.begin());
  }
  if (node.operation == Operation::kStatistic) {
    return StatisticOf(node, binding, from);
  }
  if (binding.other_row) {
    from.scope = binding.scope;
    from.row = 0;
  }
  return binding.kind == Binding::Kind::kMetric ? Evaluated(binding.rule, from)
                                                : InputOf(binding, from);
}

std::uint64_t Evaluator::NewInput(const Measured& input, const Where& where,
                                  const Binding& binding) {
  const bool has_error =
      input.quality == Quality::kScaled && input.standard_error.has_value();
  if (!has_error) return 0;
  const auto [at, is_new] = input_ids_.try_emplace(
      {where.trace, where.scope, where.row, KeyOf(binding)}, 0);
  if (is_new) {
    // An event set is identified within one row of one trace.
    const std::uint64_t row = (static_cast<std::uint64_t>(where.row) * kScopes +
                               static_cast<std::uint64_t>(where.scope)) *
                                  inputs_.size() +
                              where.trace;
    at->second =
        errors_.Add(*input.standard_error,
                    input.shared_relative_error.value_or(0) * input.value,
                    row << 16 | (input.set & 0xffff));
  }
  return at->second;
}

MetricValue Evaluator::Joined(std::size_t rule, std::size_t divisor,
                              double spread, Scope scope, std::size_t row) {
  auto known = std::find(divisors_.begin(), divisors_.end(), divisor);
  if (known == divisors_.end()) {
    known = divisors_.insert(known, divisor);
    known_.resize((divisors_.size() + 1) * inputs_.size() * kScopes);
  }
  spread_ = spread;
  const std::size_t index =
      static_cast<std::size_t>(known - divisors_.begin()) + 1;
  return Shown(Evaluated(rule, {0, scope, row, index}), MetricUnit{});
}

Evaluator::Outcome Evaluator::JoinedInput(const Binding& binding,
                                          const Where& where) {
  const std::size_t runs = where.scope == Scope::kTrace ? inputs_.size() : 1;
  Outcome first;
  for (std::size_t run = 0; run < runs; ++run) {
    const Where plain{run, where.scope, where.row};
    Outcome input = InputOf(binding, plain);
    const Outcome divisor =
        input.estimate ? Evaluated(divisors_[where.divisor - 1], plain) : input;
    if (input.estimate && divisor.estimate && divisor.estimate->value != 0) {
      Estimate ratio = Quotient(*input.estimate, *divisor.estimate);
      if (run == 0 || spread_ == 0) return {std::move(ratio), {}, ""};
      std::uint64_t& id = run_inputs_[run];
      if (id == 0) id = errors_.Add(spread_, 0, 0);
      ratio.quality = Worse(ratio.quality, Quality::kScaled);
      ratio.interval.reset();  // of its run alone
      AddSlopes({{id, 1}}, ratio.value, ratio.slopes);
      return {std::move(ratio), {}, ""};
    }
    if (run == 0) first = input.estimate ? divisor : input;
  }
  if (!first.estimate) return first;
  const std::optional<Interval>& total = first.estimate->interval;
  if (!total || total->hi == 0) return {{}, {}, "its run has a total of 0"};
  const auto most = static_cast<std::uint64_t>(total->hi);
  return {{},
          {},
          "its total's dumps are outside, up to " + base::FormatCount(most) +
              " may be inside"};
}

Evaluator::Outcome Evaluator::InputOf(const Binding& binding,
                                      const Where& where) {
  if (where.divisor != 0) return JoinedInput(binding, where);
  const RowInputs& inputs = inputs_[where.trace];
  const auto input = inputs.Get(where.scope, where.row, binding);
  if (input) {
    return {FromMeasured(*input, NewInput(*input, where, binding)), {}, ""};
  }
  Outcome outcome;
  if (binding.kind == Binding::Kind::kQuantity) {
    for (const QuantityInfo& info : Quantities()) {
      if (info.quantity == binding.quantity) {
        outcome.needs.emplace_back(info.name);
      }
    }
    return outcome;
  }
  std::string need = base::EscapeName(binding.event);
  const std::string similar = inputs.Similar(binding.event);
  if (!similar.empty() &&
      CanonicalEvent(similar) != CanonicalEvent(binding.event)) {
    need += absl::StrFormat(" (the trace has %s)", base::EscapeName(similar));
  }
  outcome.needs.push_back(std::move(need));
  return outcome;
}

const Evaluator::Outcome& Evaluator::StatisticOf(const Node& node,
                                                 const Binding& binding,
                                                 const Where& where) {
  const bool traces = !ScopeOf(node.qualifier).has_value();
  const StatisticKey key{where.trace, traces, binding.scope, node.statistic,
                         KeyOf(binding)};
  const auto known = statistics_.find(key);
  if (known != statistics_.end()) return known->second;

  std::vector<Where> rows;
  if (traces) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      rows.push_back({i, Scope::kTrace, 0});
    }
  } else {
    const std::size_t count = inputs_[where.trace].RowCount(binding.scope);
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back({where.trace, binding.scope, i});
    }
  }
  return statistics_.emplace(key, StatisticOver(node.statistic, binding, rows))
      .first->second;
}

Evaluator::Outcome Evaluator::StatisticOver(Statistic statistic,
                                            const Binding& binding,
                                            const std::vector<Where>& rows) {
  std::vector<Outcome> outcomes;
  outcomes.reserve(rows.size());
  for (const Where& row : rows) {
    outcomes.push_back(binding.kind == Binding::Kind::kMetric
                           ? Evaluated(binding.rule, row)
                           : InputOf(binding, row));
  }
  std::vector<const Estimate*> values;
  for (const Outcome& outcome : outcomes) {
    if (outcome.estimate) values.push_back(&*outcome.estimate);
  }
  Outcome reduced = Reduced(statistic, values);
  // No row has a value: name what the rows lack.
  if (!reduced.estimate && !outcomes.empty()) {
    reduced.needs = outcomes[0].needs;
    reduced.reason = outcomes[0].reason;
  }
  return reduced;
}

Evaluator::Outcome Evaluator::Reduced(
    Statistic statistic, const std::vector<const Estimate*>& values) {
  if (statistic == Statistic::kCount) {
    return {Constant(static_cast<double>(values.size())), {}, ""};
  }
  if (values.empty()) return {{}, {}, "no row has a value"};
  const double count = static_cast<double>(values.size());
  Estimate out;
  bool all_bounded = true;
  std::vector<double> points, lows, highs;
  for (const Estimate* value : values) {
    out.quality = Worse(out.quality, value->quality);
    out.errors_known &= value->errors_known;
    points.push_back(value->value);
    all_bounded &= value->interval.has_value();
    if (value->interval) {
      lows.push_back(value->interval->lo);
      highs.push_back(value->interval->hi);
    }
  }
  // Monotone in each value, so the lower ends of all give its lower end.
  const auto monotone = [&](const auto& of) {
    out.value = of(points);
    if (all_bounded) out.interval = Interval{of(lows), of(highs)};
  };
  const auto slope_of_holder = [&] {
    const auto holder = std::find(points.begin(), points.end(), out.value);
    AddSlopes(values[static_cast<std::size_t>(holder - points.begin())]->slopes,
              1, out.slopes);
  };
  switch (statistic) {
    case Statistic::kCount:
      break;
    case Statistic::kSum:
    case Statistic::kMean: {
      const double factor = statistic == Statistic::kSum ? 1 : 1 / count;
      monotone([&](const std::vector<double>& v) {
        return std::accumulate(v.begin(), v.end(), 0.0) * factor;
      });
      const std::vector<double> factors(values.size(), factor);
      out.slopes = Combined(values, factors);
      break;
    }
    case Statistic::kStddev:
      SetStddev(points, values, out);
      break;
    case Statistic::kMin:
      monotone([](const std::vector<double>& v) {
        return *std::min_element(v.begin(), v.end());
      });
      slope_of_holder();
      break;
    case Statistic::kMax:
      monotone([](const std::vector<double>& v) {
        return *std::max_element(v.begin(), v.end());
      });
      slope_of_holder();
      break;
    case Statistic::kP50:
    case Statistic::kP90:
    case Statistic::kP99: {
      const double fraction = statistic == Statistic::kP50   ? 0.5
                              : statistic == Statistic::kP90 ? 0.9
                                                             : 0.99;
      monotone([&](const std::vector<double>& v) {
        return NearestRank(v, fraction);
      });
      slope_of_holder();
      break;
    }
  }
  return {std::move(out), {}, ""};
}

Evaluator::Outcome Evaluator::Applied(const Node& node,
                                      const Expression& formula,
                                      std::vector<Outcome>& operands) {
  Outcome absent;
  for (const Outcome& operand : operands) {
    for (const std::string& need : operand.needs) {
      if (std::find(absent.needs.begin(), absent.needs.end(), need) ==
          absent.needs.end()) {
        absent.needs.push_back(need);
      }
    }
    if (absent.reason.empty()) absent.reason = operand.reason;
  }
  for (const Outcome& operand : operands) {
    if (!operand.estimate) return absent;
  }
  const Estimate& a = *operands[0].estimate;
  std::optional<Estimate> result;
  switch (node.operation) {
    case Operation::kNegate:
      result = Negated(a);
      break;
    case Operation::kAbsolute:
      result = Absolute(a);
      break;
    case Operation::kSquareRoot:
      if (a.value < 0) return {{}, {}, "square root of a negative number"};
      result = SquareRoot(a);
      break;
    case Operation::kAdd:
      result = Sum(a, *operands[1].estimate);
      break;
    case Operation::kSubtract:
      result = Difference(a, *operands[1].estimate);
      break;
    case Operation::kMultiply:
      result = Product(a, *operands[1].estimate);
      break;
    case Operation::kDivide:
      if (operands[1].estimate->value == 0) {
        return {{},
                {},
                absl::StrFormat("division by zero: %s is 0",
                                DivisorName(formula, node))};
      }
      result = Quotient(a, *operands[1].estimate);
      break;
    case Operation::kLeast:
    case Operation::kGreatest:
      result = a;
      for (std::size_t i = 1; i < operands.size(); ++i) {
        result = node.operation == Operation::kLeast
                     ? Least(*result, *operands[i].estimate)
                     : Greatest(*result, *operands[i].estimate);
      }
      break;
    case Operation::kNumber:
    case Operation::kName:
    case Operation::kStatistic:
      break;
  }
  if (!std::isfinite(result->value)) {
    return {{}, {}, "the result is too large for a number"};
  }
  return {std::move(result), {}, ""};
}

MetricValue Evaluator::Shown(const Outcome& outcome,
                             const MetricUnit& unit) const {
  MetricValue shown;
  if (!outcome.estimate) {
    if (outcome.needs.empty()) {
      shown.absent = outcome.reason;
      return shown;
    }
    shown.absent = "needs ";
    for (std::size_t i = 0; i < outcome.needs.size(); ++i) {
      if (i == kMaxNeedsNamed) {
        shown.absent +=
            absl::StrFormat(" and %d more", outcome.needs.size() - i);
        break;
      }
      if (i > 0) shown.absent += ", ";
      shown.absent += outcome.needs[i];
    }
    return shown;
  }
  const Estimate& estimate = *outcome.estimate;
  shown.value = estimate.value / unit.scale;
  shown.quality = estimate.quality;
  if (estimate.quality == Quality::kScaled && estimate.errors_known) {
    shown.standard_error = errors_.StandardError(estimate) / unit.scale;
  }
  if (estimate.quality == Quality::kBounded && estimate.interval) {
    shown.lo = estimate.interval->lo / unit.scale;
    shown.hi = estimate.interval->hi / unit.scale;
  }
  return shown;
}

}  // namespace countrace::rmap::metrics
