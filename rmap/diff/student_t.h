// Student's t distribution with any positive, also fractional, number of
// degrees of freedom, as Welch's test needs it.
//
// Through the regularised incomplete beta function (NIST DLMF 8.17.22, its
// continued fraction); relative error below 1e-10 (student_t_test.cc compares
// with published tables). Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_STUDENT_T_H_
#define COUNTRACE_RMAP_DIFF_STUDENT_T_H_

namespace countrace::rmap::diff {

// Probability of a value at least as far from 0 as `t`, on either side.
// Requires: df > 0. Infinite t: 0.
double TwoSidedTail(double t, double df);

// The t > 0 with TwoSidedTail(t, df) == tail. Requires: 0 < tail < 1, df > 0.
double TwoSidedQuantile(double tail, double df);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_STUDENT_T_H_
