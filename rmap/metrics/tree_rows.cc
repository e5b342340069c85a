#include "rmap/metrics/tree_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/metrics/metric_data.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/rule_tree.h"
#include "rmap/result/student_t.h"

namespace countrace::rmap::metrics {
namespace {

class TreeRows {
 public:
  TreeRows(const TreeRequest& request, RuleTree tree)
      : request_(request),
        rules_(request.rules->rules()),
        tree_(std::move(tree)),
        evaluator_(*request.rules, request.runs) {}

  TreeTable Make() {
    const Rule& root = rules_[tree_.nodes[0].rule];
    table_.title = root.text.tree + ": " + root.text.description;
    table_.has_owners =
        request_.scope != Scope::kTrace || !request_.owner.empty();
    Spread();
    const Report& report = *request_.runs[0].report;
    const MetricReport all{request_.rules, &report,           &evaluator_, {},
                           kEveryScope,    request_.selection};
    for (const std::size_t row : ShownRows(all, request_.scope)) {
      owner_ = request_.scope == Scope::kTrace
                   ? request_.owner
                   : RowName(report, request_.scope, row);
      Nodes(row);
      if (request_.scope == Scope::kTrace) Others();
    }
    return std::move(table_);
  }

 private:
  // How much the value of the root differs among the runs.
  void Spread() {
    std::vector<double> values;
    std::string list;
    if (!Fits(tree_.per, Scope::kTrace)) return;
    for (std::size_t run = 0; run < request_.runs.size(); ++run) {
      const MetricValue total = evaluator_.ValueIn(run, tree_.nodes[0].rule);
      const MetricValue per = evaluator_.ValueIn(run, tree_.per);
      if (total.value.value_or(0) <= 0 || per.value.value_or(0) <= 0) continue;
      values.push_back(*total.value / *per.value);
      list +=
          (list.empty() ? "" : ", ") + absl::StrFormat("%.4f", values.back());
    }
    if (values.size() < 2) return;
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) /
                        static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
      squares += (value - mean) * (value - mean);
    freedom_ = static_cast<double>(values.size() - 1);
    spread_ = std::sqrt(squares / freedom_) / mean;
    const auto [least, most] =
        std::minmax_element(values.begin(), values.end());
    table_.messages.push_back(absl::StrFormat(
        "%d runs, of which each part has the first that counted it, by ratio "
        "to its own totals: the root is %s, %.1f %% apart; intervals are of "
        "that spread, at 95 %%",
        values.size(), list, 100 * (*most - *least) / *least));
  }

  void Nodes(std::size_t row) {
    const std::size_t first = table_.rows.size();
    for (const RuleTree::Node& node : tree_.nodes) {
      TreeRow made = RowOf(rules_[node.rule]);
      made.in_tree = true;
      made.depth = node.depth;
      made.parent = rules_[node.rule].text.parent;
      if (!Fits(node.rule, request_.scope)) {
        made.absent =
            absl::StrFormat("not of table %s", ScopeName(request_.scope));
        table_.rows.push_back(std::move(made));
        continue;
      }
      const auto joined = [&](std::size_t divisor) {
        return evaluator_.Joined(node.rule, divisor, spread_, request_.scope,
                                 row);
      };
      made.share = joined(tree_.nodes[0].rule).value;
      Take(joined(tree_.per), made);
      MetricValue count = evaluator_.Value(node.rule, request_.scope, row);
      if (request_.scope == Scope::kTrace && !count.value) {
        count = OfFirstRun(node.rule);
      }
      // A lower bound of 0 is none.
      if (count.quality != Quality::kBounded || count.value != 0.0) {
        made.count = count.value;
      }
      table_.rows.push_back(std::move(made));
    }
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      TreeRow& parent = table_.rows[first + i];
      double sum = 0;
      bool has_parts = false, all = parent.value.has_value();
      for (std::size_t j = i + 1; j < tree_.nodes.size(); ++j) {
        if (tree_.nodes[j].parent != i) continue;
        has_parts = true;
        all &= table_.rows[first + j].value.has_value();
        sum += table_.rows[first + j].value.value_or(0);
      }
      if (!has_parts || !all) continue;
      const double rest = *parent.value - sum;
      // Doubles of up to 32 terms.
      parent.rest = std::abs(rest) < 1e-12 * std::abs(sum) ? 0 : rest;
    }
  }

  // The other rules of its file, and those of the user.
  void Others() {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const RuleText& text = rules_[i].text;
      if (text.source == kDefaultSource || !text.parent.empty() ||
          !text.tree.empty() || i == tree_.per ||
          !Has(rules_[i].scopes, Scope::kTrace)) {
        continue;
      }
      TreeRow made = RowOf(rules_[i]);
      made.unit = rules_[i].unit.text;
      Take(OfFirstRun(i), made);
      table_.rows.push_back(std::move(made));
    }
  }

  // False: the table has no rows of it. What it is divided by must be there,
  // too.
  bool Fits(std::size_t rule, Scope scope) const {
    return Has(rules_[rule].scopes, scope) &&
           Has(rules_[tree_.nodes[0].rule].scopes, scope) &&
           Has(rules_[tree_.per].scopes, scope);
  }

  // The value in the first run that has one; without: why the first has none.
  MetricValue OfFirstRun(std::size_t rule) {
    for (std::size_t run = 0; run < request_.runs.size(); ++run) {
      MetricValue value = evaluator_.ValueIn(run, rule);
      if (value.value) return value;
    }
    return evaluator_.ValueIn(0, rule);
  }

  TreeRow RowOf(const Rule& rule) const {
    TreeRow row;
    row.owner = owner_;
    row.code = rule.text.code;
    row.name = rule.text.name;
    row.meaning = rule.text.description;
    return row;
  }

  void Take(const MetricValue& value, TreeRow& row) const {
    row.value = value.value;
    row.value_quality = value.quality;
    row.absent = value.value ? "" : value.absent;
    row.lo = value.lo;
    row.hi = value.hi;
    if (value.value && value.standard_error.value_or(0) != 0) {
      const double half =
          *value.standard_error * TwoSidedQuantile(0.05, freedom_);
      row.lo = *value.value - half;
      row.hi = *value.value + half;
    }
  }

  const TreeRequest& request_;
  const std::vector<Rule>& rules_;
  const RuleTree tree_;
  Evaluator evaluator_;
  TreeTable table_;
  std::string owner_;
  double spread_ = 0, freedom_ = 1e6;
};

}  // namespace

absl::StatusOr<TreeTable> MakeTreeTable(const TreeRequest& request) {
  auto tree = FindTree(*request.rules, request.tree);
  if (!tree.ok()) return tree.status();
  return TreeRows(request, *std::move(tree)).Make();
}

}  // namespace countrace::rmap::metrics
