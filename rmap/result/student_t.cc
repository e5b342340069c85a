#include "rmap/result/student_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace countrace::rmap {

namespace {

namespace policies = boost::math::policies;

// Never throws: a result without a value is infinite or NaN.
using Distribution = boost::math::students_t_distribution<
    double, policies::policy<policies::domain_error<policies::ignore_error>,
                             policies::pole_error<policies::ignore_error>,
                             policies::overflow_error<policies::ignore_error>,
                             policies::evaluation_error<policies::ignore_error>,
                             policies::rounding_error<policies::ignore_error>>>;

}  // namespace

double TwoSidedTail(double t, double df) {
  return 2 * cdf(complement(Distribution(df), std::fabs(t)));
}

double TwoSidedQuantile(double tail, double df) {
  return quantile(complement(Distribution(df), tail / 2));
}

}  // namespace countrace::rmap
