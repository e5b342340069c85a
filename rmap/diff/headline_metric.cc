#include "rmap/diff/headline_metric.h"

#include <cmath>

namespace countrace::rmap::diff {

namespace {

// Wall time contains on-CPU time, so a slower computation changes both. A
// smaller difference between the two is not about waiting.
constexpr double kClearlyMore = 1.25;

bool ChangedClearlyMore(const Change& wall, const Change& on_cpu) {
  const double of_wall = std::fabs(LogRatio(wall.before, wall.after));
  const double of_on_cpu = std::fabs(LogRatio(on_cpu.before, on_cpu.after));
  // A large ratio of two small numbers does not matter.
  return of_wall > kClearlyMore * of_on_cpu &&
         std::fabs(wall.value()) > kClearlyMore * std::fabs(on_cpu.value());
}

}  // namespace

std::string HeadlineMetric(const Diff& diff) {
  const MetricChange* on_cpu = FindTotal(diff, "on-CPU");
  const MetricChange* wall = FindTotal(diff, "wall");
  if (on_cpu == nullptr) return "wall";
  if (wall == nullptr || !wall->self.IsSure()) return "on-CPU";
  if (!on_cpu->self.IsSure()) return "wall";
  return ChangedClearlyMore(wall->self, on_cpu->self) ? "wall" : "on-CPU";
}

double LogRatio(double before, double after) {
  if (before <= 0 || after <= 0) return before == after ? 0 : 1e9;
  return std::log(after / before);
}

}  // namespace countrace::rmap::diff
