#include "rmap/diff/tree_changes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/diff/difference.h"
#include "rmap/metrics/tree_rows.h"

namespace countrace::rmap::diff {
namespace {

constexpr double kFalseDiscoveryRate = 0.05;

// A row in the runs that have it.
struct Alone {
  std::vector<double> values;
  double below = 0, above = 0;  // sums of what losses leave open
};

struct Side {
  TreeTable all;             // of the runs together
  std::vector<Alone> alone;  // by row
};

absl::StatusOr<Side> SideOf(const metrics::RuleSet& rules,
                            const std::string& tree,
                            const std::vector<Report>& reports) {
  metrics::TreeRequest request{
      .rules = &rules, .tree = tree, .runs = {}, .owner = ""};
  for (const Report& report : reports) request.runs.push_back({"", &report});
  auto all = metrics::MakeTreeTable(request);
  if (!all.ok()) return all.status();
  Side side{*std::move(all), {}};
  side.alone.resize(side.all.rows.size());
  for (const Report& report : reports) {
    request.runs = {{"", &report}};
    const auto one = metrics::MakeTreeTable(request);
    for (std::size_t row = 0; row < side.alone.size(); ++row) {
      const TreeRow& of = one->rows[row];
      if (!of.value) continue;
      Alone& alone = side.alone[row];
      alone.values.push_back(*of.value);
      // The spread of the runs has the errors of estimates.
      if (of.value_quality != Quality::kBounded) continue;
      alone.below += *of.value - of.lo.value_or(*of.value);
      alone.above += of.hi.value_or(*of.value) - *of.value;
    }
  }
  return side;
}

// Nothing: the side has no value.
std::optional<Sample> SampleOf(const Side& side, std::size_t row) {
  const TreeRow& joined = side.all.rows[row];
  if (!joined.value) return std::nullopt;
  // Ratios: two that agree to the ninth digit are equal.
  const Alone& alone = side.alone[row];
  const auto runs = static_cast<double>(alone.values.size());
  Sample sample{.values = alone.values, .resolution = 1e-9, .of_turns = {}};
  if (runs >= 2) {
    sample.below = alone.below / runs;
    sample.above = alone.above / runs;
  } else {
    sample.values = {*joined.value};
    sample.below = *joined.value - joined.lo.value_or(*joined.value);
    sample.above = joined.hi.value_or(*joined.value) - *joined.value;
  }
  return sample;
}

}  // namespace

absl::StatusOr<TreeTable> CompareTrees(const metrics::RuleSet& rules,
                                       const std::string& tree,
                                       const std::vector<Report>& before,
                                       const std::vector<Report>& after) {
  const auto first = SideOf(rules, tree, before);
  if (!first.ok()) return first.status();
  const auto second = SideOf(rules, tree, after);
  if (!second.ok()) return second.status();
  TreeTable table = second->all;
  table.is_change = true;
  std::vector<std::optional<Difference>> differences;
  std::vector<double> p_values;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto was = SampleOf(*first, row), is = SampleOf(*second, row);
    TreeRow& made = table.rows[row];
    if (was) made.before = was->Mean();
    if (is) made.value = is->Mean();
    if (made.absent.empty()) made.absent = first->all.rows[row].absent;
    differences.emplace_back();
    if (!was || !is) continue;
    differences.back().emplace(*was, *is);
    if (differences.back()->noise_known()) {
      p_values.push_back(differences.back()->p());
    }
  }
  const auto tests =
      static_cast<double>(std::max<std::size_t>(p_values.size(), 1));
  const double tail =
      kFalseDiscoveryRate / tests *
      static_cast<double>(std::max<std::size_t>(
          Discoveries(std::move(p_values), kFalseDiscoveryRate), 1));
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    TreeRow& made = table.rows[row];
    made.lo = made.hi = made.rest = std::nullopt;
    if (!differences[row]) continue;
    const Difference& difference = *differences[row];
    // The last digits of doubles, which would have a sign.
    const bool none =
        std::abs(difference.value()) <= 1e-12 * std::abs(*made.value);
    made.change = none ? 0 : difference.value();
    made.verdict = VerdictName(difference.VerdictAt(tail));
    if (!difference.is_bare()) {
      const Interval interval = difference.At(tail);
      made.lo = interval.low;
      made.hi = interval.high;
    }
    const auto& whole = table.rows.front().change;
    if (made.in_tree && whole.value_or(0) != 0) {
      made.part = none ? 0 : difference.value() / *whole;
    }
  }
  const auto note = [&](const char* side, const TreeTable& of) {
    for (const std::string& message : of.messages) {
      table.messages.push_back(absl::StrFormat("%s: %s", side, message));
    }
  };
  table.messages.clear();
  note("before", first->all);
  note("after", second->all);
  if (std::any_of(differences.begin(), differences.end(),
                  [](const auto& one) { return one && !one->noise_known(); })) {
    table.messages.emplace_back(
        "`noise_unknown`: one run a side has it, so that the noise between "
        "runs is not known; several runs of the same events each would show "
        "which changes are certain");
  }
  return table;
}

}  // namespace countrace::rmap::diff
