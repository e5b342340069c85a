// The chi-squared distribution.
//
// Boost.Math behind a function, so that one file includes it. Thread: any.
#ifndef COUNTRACE_RMAP_RESULT_CHI_SQUARED_H_
#define COUNTRACE_RMAP_RESULT_CHI_SQUARED_H_

namespace countrace::rmap {

// Probability of a value of at least `x`. Requires: x >= 0, df > 0.
double ChiSquaredTail(double x, double df);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_CHI_SQUARED_H_
