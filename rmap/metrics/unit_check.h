// Checks the units of a formula: ns cannot be added to counts.
#ifndef COUNTRACE_RMAP_METRICS_UNIT_CHECK_H_
#define COUNTRACE_RMAP_METRICS_UNIT_CHECK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "rmap/metrics/expression.h"
#include "rmap/metrics/metric_unit.h"

namespace countrace::rmap::metrics {

// Returns the dimensions of the formula. `names` holds those of each node that
// is a name or a statistic, by the node's index. A 0 without a unit fits any.
// Errors: kInvalidArgument, those of ErrorAt().
absl::StatusOr<Dimensions> CheckUnits(const Expression& formula,
                                      const std::vector<Dimensions>& names);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_UNIT_CHECK_H_
