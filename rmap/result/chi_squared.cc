#include "rmap/result/chi_squared.h"

#include <boost/math/special_functions/gamma.hpp>

namespace countrace::rmap {

double ChiSquaredTail(double x, double df) {
  namespace policies = boost::math::policies;
  // Never throws: a tail too small for a double is 0.
  using Policy =
      policies::policy<policies::domain_error<policies::ignore_error>,
                       policies::overflow_error<policies::ignore_error>,
                       policies::underflow_error<policies::ignore_error>,
                       policies::evaluation_error<policies::ignore_error>>;
  return boost::math::gamma_q(df / 2, x / 2, Policy());
}

}  // namespace countrace::rmap
