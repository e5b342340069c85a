#include "rmap/metrics/rule_set.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "rmap/columns/report_columns.h"
#include "rmap/metrics/event_names.h"
#include "rmap/metrics/unit_check.h"

namespace countrace::rmap::metrics {
namespace {

constexpr std::string_view kTraces = "traces";
constexpr std::size_t kMaxNeeds = 200;

void AddOnce(const std::string& name, std::vector<std::string>& names) {
  if (names.size() < kMaxNeeds &&
      std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

// The name as in the formula, without its trace.
std::string Spelled(const Node& node) {
  return node.qualifier.empty() ? node.name : node.qualifier + "." + node.name;
}

bool IsReserved(std::string_view name) {
  return FindQuantity("", name) != nullptr || ScopeOf(name).has_value() ||
         (AccountOf(name).has_value() && !name.empty()) || name == kTraces ||
         name == "wall";
}

absl::Status ErrorIn(const Rule& rule, const Node& node,
                     std::string_view message) {
  return base::ErrorAt(rule.formula.place, rule.formula.text, node.offset,
                       message);
}

}  // namespace

std::optional<std::size_t> RuleSet::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

absl::Status RuleSet::Add(RuleText text) {
  if (!IsWord(text.name) || text.name.size() > 64) {
    return base::ErrorAt(
        text.name_place,
        absl::StrFormat("`%s` is no name for a metric; it takes "
                        "letters, digits and _, at most 64",
                        base::EscapeName(text.name.substr(0, 64))));
  }
  if (IsReserved(text.name)) {
    return base::ErrorAt(text.name_place,
                         absl::StrFormat("`%s` is a quantity or table already; "
                                         "give the metric another name",
                                         text.name));
  }
  Rule rule;
  auto formula = ParseExpression(text.formula, text.formula_place);
  if (!formula.ok()) return formula.status();
  rule.formula = *std::move(formula);
  if (text.unit) {
    auto unit = ParseUnit(*text.unit);
    if (!unit.ok()) {
      return base::ErrorAt(text.unit_place,
                           std::string(unit.status().message()));
    }
    rule.unit = *std::move(unit);
  }
  const auto known = by_name_.find(text.name);
  if (known != by_name_.end()) {
    if (rules_[known->second].text.source == text.source) {
      const base::SourcePlace& first = rules_[known->second].text.name_place;
      return base::ErrorAt(
          text.name_place,
          absl::StrFormat("metric `%s` stands already in line %d", text.name,
                          first.line));
    }
    rule.text = std::move(text);
    rules_[known->second] = std::move(rule);
    return absl::OkStatus();
  }
  if (rules_.size() == kMaxRules) {
    return base::ErrorAt(text.name_place,
                         absl::StrFormat("more than %d metrics", kMaxRules));
  }
  by_name_.emplace(text.name, rules_.size());
  rule.text = std::move(text);
  rules_.push_back(std::move(rule));
  return absl::OkStatus();
}

absl::Status RuleSet::Check(const std::vector<std::string>& trace_events) {
  trace_events_ = trace_events;
  visits_.assign(rules_.size(), Visit::kNew);
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const absl::Status status = CheckRule(i, 0);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RuleSet::CheckRule(std::size_t index, std::size_t depth) {
  if (visits_[index] == Visit::kDone) return absl::OkStatus();
  visits_[index] = Visit::kOpen;
  open_.push_back(index);
  Rule& rule = rules_[index];
  const ScopeSet wanted = rule.text.scopes.value_or(kEveryScope);
  rule.scopes = 0;
  rule.stage = 1;
  rule.height = 0;
  rule.of_row = false;
  rule.needs.clear();
  absl::Status first_error;
  std::optional<Dimensions> dimensions;
  for (const Scope scope : kAllScopes) {
    if (!Has(wanted, scope)) continue;
    const auto computed = CheckIn(rule, scope, depth);
    if (computed.ok()) {
      rule.scopes |= Only(scope);
      dimensions = *computed;
    } else if (rule.text.scopes.has_value() ||
               absl::IsInvalidArgument(computed.status())) {
      return absl::InvalidArgumentError(computed.status().message());
    } else if (first_error.ok()) {
      // kNotFound: this table lacks a name. A rule without a scope omits the
      // table.
      first_error = computed.status();
    }
  }
  if (rule.scopes == 0)
    return absl::InvalidArgumentError(first_error.message());
  rule.dimensions = *dimensions;
  if (!rule.text.scopes && !rule.of_row && Has(rule.scopes, Scope::kTrace)) {
    rule.scopes = Only(Scope::kTrace);
  }
  if (!rule.text.unit) {
    rule.unit = DefaultUnit(rule.dimensions);
  } else if (!Fits(rule.unit, rule.dimensions)) {
    return base::ErrorAt(
        rule.text.unit_place,
        absl::StrFormat("the unit of `%s` is said to be %s, but "
                        "`%s` is %s",
                        rule.text.name, rule.unit.text,
                        base::EscapeName(rule.text.formula.substr(0, 200)),
                        DimensionsName(rule.dimensions)));
  }
  open_.pop_back();
  visits_[index] = Visit::kDone;
  return absl::OkStatus();
}

absl::StatusOr<Dimensions> RuleSet::CheckIn(Rule& rule, Scope scope,
                                            std::size_t depth) {
  std::vector<Binding> bindings(rule.formula.nodes.size());
  std::vector<Dimensions> dimensions(rule.formula.nodes.size());
  for (std::size_t i = 0; i < rule.formula.nodes.size(); ++i) {
    const Node& node = rule.formula.nodes[i];
    const bool statistic = node.operation == Operation::kStatistic;
    if (node.operation != Operation::kName && !statistic) continue;
    auto bound = Bind(rule, node, scope, depth);
    if (!bound.ok()) return bound.status();
    if (bound->kind == Binding::Kind::kMetric) {
      for (const std::string& need : rules_[bound->rule].needs) {
        AddOnce(need, rule.needs);
      }
      rule.height = std::max(rule.height, rules_[bound->rule].height + 1);
    } else {
      AddOnce(Spelled(node), rule.needs);
    }
    if (statistic || bound->kind == Binding::Kind::kMetric ||
        bound->other_row || !node.trace.empty()) {
      rule.stage = 2;
    }
    rule.of_row |= IsOfRow(*bound);
    dimensions[i] = bound->dimensions;
    bindings[i] = *std::move(bound);
  }
  auto computed = CheckUnits(rule.formula, dimensions);
  if (computed.ok()) {
    rule.bindings[static_cast<std::size_t>(scope)] = std::move(bindings);
  }
  return computed;
}

bool RuleSet::IsOfRow(const Binding& binding) const {
  if (binding.other_row) return false;
  switch (binding.kind) {
    case Binding::Kind::kMetric:
      return rules_[binding.rule].of_row;
    case Binding::Kind::kQuantity:
      return binding.quantity < Quantity::kDuration;
    case Binding::Kind::kEvent:
      return binding.account == Account::kRow ||
             binding.account == Account::kExclusive;
    case Binding::Kind::kNone:
      break;
  }
  return false;
}

absl::StatusOr<Binding> RuleSet::BindMetric(const Rule& rule, const Node& node,
                                            Scope scope, std::size_t metric,
                                            std::size_t depth) {
  if (visits_[metric] == Visit::kOpen) {
    std::string circle;
    for (auto at = std::find(open_.begin(), open_.end(), metric);
         at != open_.end(); ++at) {
      circle += rules_[*at].text.name + " -> ";
    }
    return ErrorIn(
        rule, node,
        absl::StrFormat("a circle: %s%s", circle, rules_[metric].text.name));
  }
  // Limits the recursion of checking and evaluating.
  const absl::Status too_deep =
      ErrorIn(rule, node,
              absl::StrFormat("metrics that build on each other more than %d "
                              "deep",
                              kMaxRuleDepth));
  if (depth == kMaxRuleDepth) return too_deep;
  if (const absl::Status status = CheckRule(metric, depth + 1); !status.ok()) {
    return status;
  }
  if (rules_[metric].height + 1 > kMaxRuleDepth) return too_deep;
  // A metric with one value for all rows is available in every table.
  const bool for_all =
      !rules_[metric].of_row && !rules_[metric].text.scopes.has_value();
  if (!Has(rules_[metric].scopes, scope) && !for_all) {
    // A known name that this table lacks; other tables may have it.
    return absl::NotFoundError(
        ErrorIn(rule, node,
                absl::StrFormat("metric `%s` is not one of table %s, only of "
                                "%s; of the whole trace it is trace.%s",
                                node.name, ScopeName(scope),
                                ScopeNames(rules_[metric].scopes), node.name))
            .message());
  }
  Binding binding;
  binding.kind = Binding::Kind::kMetric;
  binding.rule = metric;
  binding.for_all = for_all;
  binding.dimensions = rules_[metric].dimensions;
  return binding;
}

absl::StatusOr<Binding> RuleSet::Bind(const Rule& rule, const Node& node,
                                      Scope scope, std::size_t depth) {
  std::string_view qualifier = node.qualifier;
  Scope from = scope;
  bool other_row = false;
  if (node.operation == Operation::kStatistic) {
    const auto table = ScopeOf(qualifier);
    if (!table && qualifier != kTraces) {
      return ErrorIn(
          rule, node,
          absl::StrFormat("%s takes TABLE.NAME, where TABLE is %s, or traces "
                          "for one value of each trace",
                          StatisticName(node.statistic),
                          ScopeNames(kEveryScope)));
    }
    from = table.value_or(Scope::kTrace);
    other_row = true;
    qualifier = {};
  } else if (qualifier == ScopeName(Scope::kTrace) || !node.trace.empty()) {
    from = Scope::kTrace;
    other_row = true;
    if (qualifier == ScopeName(Scope::kTrace)) qualifier = {};
  }

  absl::StatusOr<Binding> binding = Binding{};
  const auto metric = qualifier.empty() && !node.quoted
                          ? Find(node.name)
                          : std::optional<std::size_t>();
  const QuantityInfo* quantity =
      node.quoted ? nullptr : FindQuantity(qualifier, node.name);
  const auto account = AccountOf(qualifier);
  if (metric) {
    binding = BindMetric(rule, node, from, *metric, depth);
    if (!binding.ok()) return binding.status();
  } else if (quantity != nullptr) {
    if (!Has(quantity->scopes, from)) {
      return absl::NotFoundError(
          ErrorIn(rule, node,
                  absl::StrFormat("`%s` is no quantity of table %s, only of %s",
                                  Spelled(node), ScopeName(from),
                                  ScopeNames(quantity->scopes)))
              .message());
    }
    binding->kind = Binding::Kind::kQuantity;
    binding->quantity = quantity->quantity;
    binding->dimensions = quantity->dimensions;
  } else if (account && (node.quoted || IsEventName(node.name) ||
                         std::find(trace_events_.begin(), trace_events_.end(),
                                   node.name) != trace_events_.end())) {
    if (*account == Account::kExclusive && from != Scope::kSegment &&
        from != Scope::kPath) {
      return absl::NotFoundError(
          ErrorIn(rule, node, "excl. is of segment, path only").message());
    }
    binding->kind = Binding::Kind::kEvent;
    binding->event = node.name;
    binding->account = *account;
    const std::string event = CanonicalEvent(node.name);
    binding->dimensions = UnitOfEvent(event) == Unit::kNanoseconds
                              ? Dimensions{.time = 1}
                              : Dimensions{.count = 1};
  } else {
    return Unknown(rule, node, from);
  }
  binding->scope = binding->for_all ? Scope::kTrace : from;
  binding->other_row = other_row || binding->for_all;
  return binding;
}

absl::Status RuleSet::Unknown(const Rule& rule, const Node& node,
                              Scope scope) const {
  if (!node.qualifier.empty() && !AccountOf(node.qualifier) &&
      !ScopeOf(node.qualifier)) {
    return ErrorIn(
        rule, node,
        absl::StrFormat("unknown `%s.`; known are trace, excl, wall, total, "
                        "processes, own, idle, interrupts, outside and "
                        "unattributed",
                        base::EscapeName(node.qualifier)));
  }
  std::vector<std::string> known = GenericEvents();
  known.insert(known.end(), trace_events_.begin(), trace_events_.end());
  for (const QuantityInfo& info : Quantities()) {
    if (info.qualifier.empty() && Has(info.scopes, scope)) {
      known.emplace_back(info.name);
    }
  }
  for (const auto& [name, index] : by_name_) known.push_back(name);
  // Without quotes, "page-faults" is page minus faults.
  const std::string_view text = rule.formula.text;
  std::size_t end = node.offset;
  while (end < text.size() &&
         (text[end] == '-' || text[end] == '_' ||
          (text[end] >= '0' && text[end] <= '9') ||
          ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z'))) {
    ++end;
  }
  const std::string_view whole = text.substr(node.offset, end - node.offset);
  if (whole.find('-') != whole.npos && IsEventName(whole)) {
    return ErrorIn(rule, node,
                   absl::StrFormat("`%s` needs quotes here: write `%s` with "
                                   "the back quotes",
                                   whole, whole));
  }
  const std::string_view nearest = base::NearestName(node.name, known);
  const std::string hint =
      nearest.empty()
          ? "quote it if it is an event: '" + base::EscapeName(node.name) + "'"
          : "did you mean `" + base::EscapeName(nearest) + "`?";
  return ErrorIn(rule, node,
                 absl::StrFormat("unknown event, quantity or metric `%s`; %s",
                                 base::EscapeName(node.name), hint));
}

}  // namespace countrace::rmap::metrics
