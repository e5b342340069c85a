#include "rmap/diff/student_t.h"

#include <cmath>

namespace countrace::rmap::diff {

namespace {

// Continued fraction of the incomplete beta function by Lentz's method.
// Requires: x < (a + 1) / (a + b + 2), where it converges fast.
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecise = 1e-15;
  const auto away_from_zero = [](double value) {
    return std::fabs(value) < kTiny ? kTiny : value;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::fabs(d * c - 1) < kPrecise) break;
  }
  return result;
}

// `rest` is 1 - x, passed along because the difference would lose digits.
double IncompleteBeta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
               a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(x, a, b) / a;
  return 1 - front * BetaFraction(rest, b, a) / b;
}

}  // namespace

double TwoSidedTail(double t, double df) {
  const double square = t * t;
  if (!std::isfinite(square)) return 0;
  return IncompleteBeta(df / (df + square), square / (df + square), df / 2,
                        0.5);
}

double TwoSidedQuantile(double tail, double df) {
  double low = 0, high = 1;
  while (TwoSidedTail(high, df) > tail) {
    low = high;
    high *= 2;
    if (!std::isfinite(high)) return high;
  }
  // Newton's steps on the logarithm of the tail, which is concave; halving
  // where a step would leave what is known to hold the root.
  const double log_front = std::log(2.0) + std::lgamma((df + 1) / 2) -
                           std::lgamma(df / 2) - std::log(df * M_PI) / 2;
  double t = low + (high - low) / 2;
  for (int i = 0; i < 200; ++i) {
    const double reached = TwoSidedTail(t, df);
    (reached > tail ? low : high) = t;
    const double density =
        std::exp(log_front - (df + 1) / 2 * std::log1p(t * t / df));
    double next = t + reached / density * std::log(reached / tail);
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const bool settled = std::fabs(next - t) <= 1e-15 * t;
    t = next;
    if (settled) break;
  }
  return t;
}

}  // namespace countrace::rmap::diff
