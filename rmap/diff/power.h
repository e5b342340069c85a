// Power: how small a true change a t test finds.
//
// The test statistic of a true change has the noncentral t distribution; the
// approximation of Abramowitz and Stegun (26.7.10) is within 6 % of it for one
// degree of freedom, 3 % for two and 1 % from four on. Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_POWER_H_
#define COUNTRACE_RMAP_DIFF_POWER_H_

#include <cstddef>

namespace countrace::rmap::diff {

// The probability with which a change of the stated size is found.
constexpr double kPower = 0.8;

// The size of that change in standard errors of the difference. `tail`: the
// level of the two-sided test. Requires: 0 < tail < 1, df > 0.
double DetectableShift(double tail, double df);

// The smallest number of runs a side that finds `change`, if runs deviate by
// `deviation`; both are parts of the number that is compared. At least 2.
// Requires: 0 < tail < 1, deviation > 0, change > deviation / 10.
std::size_t RunsToFind(double change, double deviation, double tail);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_POWER_H_
