#include "rmap/diff/diff_tables.h"

#include <algorithm>

namespace countrace::rmap::diff {

bool RowChange::Differs() const {
  return std::any_of(
      metrics.begin(), metrics.end(),
      [](const MetricChange& metric) { return metric.Differs(); });
}

const MetricChange* RowChange::Find(const std::string& metric) const {
  for (const MetricChange& change : metrics) {
    if (change.metric == metric) return &change;
  }
  return nullptr;
}

bool Diff::HasRegression() const {
  return std::any_of(thresholds.begin(), thresholds.end(),
                     [](const ThresholdResult& result) {
                       return result.verdict == ThresholdVerdict::kRegression;
                     });
}

const MetricChange* FindTotal(const Diff& diff, const std::string& metric) {
  for (const MetricChange& total : diff.totals) {
    if (total.metric == metric) return &total;
  }
  return nullptr;
}

}  // namespace countrace::rmap::diff
