// The chi-squared distribution without Boost, which is not in the module: the
// regularized incomplete gamma function, by its series and its continued
// fraction (Press et al., Numerical Recipes, 6.2).
#include "rmap/result/chi_squared.h"

#include <cmath>

namespace countrace::rmap {
namespace {

constexpr int kMostTerms = 100'000;  // enough for millions of degrees
constexpr double kEnough = 1e-15;

// P(a, x). Requires: x < a + 1.
double BySeries(double a, double x, double scale) {
  double term = 1 / a, sum = term;
  for (int i = 1; i < kMostTerms; ++i) {
    term *= x / (a + i);
    sum += term;
    if (term < sum * kEnough) break;
  }
  return sum * scale;
}

// Q(a, x), by Lentz's method. Requires: x >= a + 1.
double ByFraction(double a, double x, double scale) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, fraction = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const double factor = -i * (i - a);
    b += 2;
    d = factor * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + factor / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    fraction *= d * c;
    if (std::fabs(d * c - 1) < kEnough) break;
  }
  return fraction * scale;
}

}  // namespace

double ChiSquaredTail(double x, double df) {
  const double a = df / 2, half = x / 2;
  if (half <= 0) return 1;
  const double scale = std::exp(a * std::log(half) - half - std::lgamma(a));
  return half < a + 1 ? 1 - BySeries(a, half, scale)
                      : ByFraction(a, half, scale);
}

}  // namespace countrace::rmap
