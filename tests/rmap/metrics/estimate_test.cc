// Arithmetic with quality: intervals contain the truth, and standard errors
// equal the spread of many draws.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "rmap/metrics/estimate.h"

namespace countrace::rmap::metrics {
namespace {

Measured Bounded(double lo, double hi) {
  Measured input;
  input.value = lo;
  input.quality = Quality::kBounded;
  input.lo = lo;
  input.hi = hi;
  return input;
}

Measured Scaled(double value, double error) {
  Measured input;
  input.value = value;
  input.quality = Quality::kScaled;
  input.standard_error = error;
  return input;
}

// One random formula, evaluated both on estimates and on plain numbers.
class Formula {
 public:
  Formula(std::mt19937& random, int depth, std::size_t inputs) {
    kind_ = depth == 0 ? 0 : static_cast<int>(random() % 9);
    if (kind_ == 0) {
      input_ = random() % inputs;
      return;
    }
    arguments_.emplace_back(random, depth - 1, inputs);
    arguments_.emplace_back(random, depth - 1, inputs);
  }

  // NaN if it has no value.
  double Of(const std::vector<double>& x) const {
    if (kind_ == 0) return x[input_];
    const double a = arguments_[0].Of(x), b = arguments_[1].Of(x);
    switch (kind_) {
      case 1:
        return a + b;
      case 2:
        return a - b;
      case 3:
        return a * b;
      case 4:
        return b == 0 ? std::nan("") : a / b;
      case 5:
        return std::min(a, b);
      case 6:
        return std::max(a, b);
      case 7:
        return -a;
      default:
        return std::abs(a);
    }
  }

  Estimate Of(const std::vector<Estimate>& x) const {
    if (kind_ == 0) return x[input_];
    const Estimate a = arguments_[0].Of(x), b = arguments_[1].Of(x);
    switch (kind_) {
      case 1:
        return Sum(a, b);
      case 2:
        return Difference(a, b);
      case 3:
        return Product(a, b);
      case 4:
        return Quotient(a, b);
      case 5:
        return Least(a, b);
      case 6:
        return Greatest(a, b);
      case 7:
        return Negated(a);
      default:
        return Absolute(a);
    }
  }

 private:
  int kind_ = 0;
  std::size_t input_ = 0;
  std::vector<Formula> arguments_;
};

TEST_CASE("estimate: the truth lies in the interval",
          "[rmap][metrics][property]") {
  int checked = 0, bounded = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> centre(-100, 100), width(0, 30);
    const Formula formula(random, 4, 3);
    std::vector<Measured> inputs;
    std::vector<Estimate> estimates;
    for (int i = 0; i < 3; ++i) {
      const double lo = centre(random);
      inputs.push_back(Bounded(lo, i == 0 ? lo : lo + width(random)));
      estimates.push_back(FromMeasured(inputs.back(), 0));
    }
    const Estimate result = formula.Of(estimates);
    if (!result.interval) continue;
    ++bounded;
    CHECK(result.quality == Quality::kBounded);
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<double> truth;
      for (const Measured& input : inputs) {
        std::uniform_real_distribution<double> within(*input.lo, *input.hi);
        truth.push_back(draw == 0   ? *input.lo
                        : draw == 1 ? *input.hi
                                    : within(random));
      }
      const double value = formula.Of(truth);
      CAPTURE(seed, draw, value, result.interval->lo, result.interval->hi);
      if (std::isnan(value)) continue;
      ++checked;
      // A point interval (lo == hi everywhere) is as exact as the value; the
      // slack is for the draw's own rounding.
      const double slack = 1e-12 * (1 + std::abs(value));
      CHECK(value >= result.interval->lo - slack);
      CHECK(value <= result.interval->hi + slack);
    }
  }
  CHECK(bounded > 2000);
  CHECK(checked > 40000);
}

TEST_CASE("estimate: what cannot be bounded has no interval",
          "[rmap][metrics]") {
  const Estimate one = Constant(1);
  const Estimate spans_zero = FromMeasured(Bounded(-1, 1), 0);
  CHECK_FALSE(Quotient(one, spans_zero).interval);
  CHECK(Quotient(one, spans_zero).quality == Quality::kBounded);
  Measured unknown;
  unknown.value = 5;
  unknown.quality = Quality::kBounded;
  CHECK_FALSE(Sum(one, FromMeasured(unknown, 0)).interval);
  CHECK_FALSE(Sum(FromMeasured(Bounded(1, 2), 0), FromMeasured(Scaled(5, 1), 0))
                  .interval);
}

TEST_CASE("estimate: the worst quality of the inputs is the result's",
          "[rmap][metrics]") {
  Measured inferred;
  inferred.value = 2;
  inferred.quality = Quality::kInferred;
  const Estimate exact = Constant(3), scaled = FromMeasured(Scaled(4, 1), 1),
                 bounded = FromMeasured(Bounded(1, 2), 0),
                 guess = FromMeasured(inferred, 0);
  CHECK(Sum(exact, exact).quality == Quality::kExact);
  CHECK(Product(exact, scaled).quality == Quality::kScaled);
  CHECK(Quotient(bounded, scaled).quality == Quality::kBounded);
  CHECK(Least(guess, bounded).quality == Quality::kInferred);
  CHECK(Negated(Absolute(SquareRoot(guess))).quality == Quality::kInferred);
}

// Draws inputs around their values and compares the spread of the results with
// the propagated error. `shared`: see Measured::shared_relative_error.
void CheckSpread(const std::function<Estimate(const Estimate&,
                                              const Estimate&)>& of_estimates,
                 const std::function<double(double, double)>& of_values,
                 double shared, bool one_set) {
  const double a = 5000, b = 8000, a_error = 40, b_error = 90;
  InputErrors errors;
  const Estimate x =
      FromMeasured(Scaled(a, a_error), errors.Add(a_error, shared * a, 1));
  const Estimate y = FromMeasured(
      Scaled(b, b_error), errors.Add(b_error, shared * b, one_set ? 1 : 2));
  const double predicted = errors.StandardError(of_estimates(x, y));
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  double sum = 0, squares = 0;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const double set_a = normal(random);
    const double set_b = one_set ? set_a : normal(random);
    const double value =
        of_values(a + a * shared * set_a + a_error * normal(random),
                  b + b * shared * set_b + b_error * normal(random));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  const double spread = std::sqrt(squares / kDraws - mean * mean);
  CAPTURE(predicted, spread);
  // 40000 draws determine a deviation to 0.4 %; first order adds a little.
  CHECK(predicted == Approx(spread).epsilon(0.03));
}

TEST_CASE("estimate: standard errors are those of many draws",
          "[rmap][metrics][property]") {
  const double shared = GENERATE(0.0, 0.03);
  const bool one_set = GENERATE(false, true);
  CAPTURE(shared, one_set);
  CheckSpread([](const Estimate& x, const Estimate& y) { return Sum(x, y); },
              [](double x, double y) { return x + y; }, shared, one_set);
  CheckSpread(
      [](const Estimate& x, const Estimate& y) { return Product(x, y); },
      [](double x, double y) { return x * y; }, shared, one_set);
  CheckSpread(
      [](const Estimate& x, const Estimate& y) { return Quotient(x, y); },
      [](double x, double y) { return x / y; }, shared, one_set);
  // An input that occurs twice is correlated with itself.
  CheckSpread([](const Estimate& x,
                 const Estimate& y) { return Quotient(x, Sum(x, y)); },
              [](double x, double y) { return x / (x + y); }, shared, one_set);
}

TEST_CASE("estimate: what is shared cancels in a ratio, and only there",
          "[rmap][metrics]") {
  InputErrors errors;
  const Estimate x =
      FromMeasured(Scaled(5000, 0), errors.Add(0, 0.03 * 5000, 1));
  const Estimate y =
      FromMeasured(Scaled(8000, 0), errors.Add(0, 0.03 * 8000, 1));
  CHECK(errors.StandardError(Quotient(x, y)) == Approx(0).margin(1e-12));
  CHECK(errors.StandardError(Difference(x, x)) == 0);
  CHECK(errors.StandardError(Quotient(x, x)) == Approx(0).margin(1e-12));
  CHECK(errors.StandardError(Sum(x, y)) == Approx(0.03 * 13000));
}

}  // namespace
}  // namespace countrace::rmap::metrics
