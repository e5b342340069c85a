// Student's t distribution with any positive, also fractional, number of
// degrees of freedom, as Welch's test needs it.
//
// Boost.Math behind two functions, so that one file includes it; relative error
// below 1e-13. Thread: any.
#ifndef COUNTRACE_RMAP_RESULT_STUDENT_T_H_
#define COUNTRACE_RMAP_RESULT_STUDENT_T_H_

namespace countrace::rmap {

// Probability of a value at least as far from 0 as `t`, on either side.
// Requires: df > 0. 0 for infinite t.
double TwoSidedTail(double t, double df);

// The t > 0 with TwoSidedTail(t, df) == tail. Requires: 0 < tail < 1, df > 0.
double TwoSidedQuantile(double tail, double df);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_STUDENT_T_H_
