#include "rmap/diff/power.h"

#include <cmath>

#include "rmap/result/student_t.h"

namespace countrace::rmap::diff {

double DetectableShift(double tail, double df) {
  constexpr double kNormalQuantile = 0.8416212335729143;  // of kPower
  const double t = TwoSidedQuantile(tail, df);
  return t * (1 - 1 / (4 * df)) +
         kNormalQuantile * std::sqrt(1 + t * t / (2 * df));
}

std::size_t RunsToFind(double change, double deviation, double tail) {
  for (std::size_t runs = 2;; ++runs) {
    const auto n = static_cast<double>(runs);
    const double error = deviation * std::sqrt(2 / n);
    // Welch's test has at most 2n - 2 degrees of freedom; two deviations that
    // differ by chance cost about one of them.
    if (error * DetectableShift(tail, 2 * n - 3) <= change) return runs;
  }
}

}  // namespace countrace::rmap::diff
