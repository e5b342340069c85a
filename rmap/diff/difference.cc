#include "rmap/diff/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "rmap/diff/power.h"
#include "rmap/result/student_t.h"

namespace countrace::rmap::diff {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Sum of squared deviations; at least the variance of rounding (Sheppard:
// rounding to steps of r has the variance r^2 / 12).
double SquaredDeviations(const Sample& sample) {
  const double mean = sample.Mean();
  double sum = 0;
  for (const double value : sample.values) {
    sum += (value - mean) * (value - mean);
  }
  const double freedom = static_cast<double>(sample.values.size()) - 1;
  return std::max(sum, freedom * sample.resolution * sample.resolution / 12);
}

// The part of the mean's variance that comes from the estimates' own errors.
// The spread between runs contains an unknown one.
double LeastVariance(const Sample& sample) {
  const double variance = sample.of_turns.variance;
  return std::isfinite(variance) ? variance : 0;
}

}  // namespace

SamplingError SamplingError::Of(const std::optional<double>& standard_error,
                                double freedom) {
  SamplingError error;
  if (!standard_error) {
    error.variance = error.quartic = kInfinite;
    return error;
  }
  // Rounding limits the precision of a whole number.
  error.variance = std::max(*standard_error * *standard_error, 1.0 / 12);
  error.quartic = error.variance * error.variance / std::max(1.0, freedom);
  return error;
}

double SamplingError::StandardError() const { return std::sqrt(variance); }

double SamplingError::Freedom() const {
  if (!std::isfinite(variance) || !(quartic > 0)) return 1;
  return std::max(1.0, variance * variance / quartic);
}

double SamplingError::HalfWidth95() const {
  if (!std::isfinite(variance) || !any()) return variance;
  return StandardError() * TwoSidedQuantile(0.05, Freedom());
}

void SamplingError::Add(const SamplingError& other) {
  variance += other.variance;
  quartic += other.quartic;
}

void SamplingError::Divide(double divisor) {
  const double square = divisor * divisor;
  variance /= square;
  quartic /= square * square;
}

double Sample::Mean() const {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWithinNoise:
      return "within_noise";
    case Verdict::kBeyondNoise:
      return "beyond_noise";
    case Verdict::kMayBeLoss:
      return "may_be_loss";
    case Verdict::kNoiseUnknown:
      return "noise_unknown";
  }
  return "?";
}

Difference::Difference(const Sample& before, const Sample& after,
                       double scale) {
  const double mean = after.Mean();
  base_ = scale * before.Mean();
  value_ = effect_ = mean - base_;
  below_ = after.below + scale * before.above;
  above_ = after.above + scale * before.below;

  const auto runs_before = static_cast<double>(before.values.size());
  const auto runs_after = static_cast<double>(after.values.size());
  if (runs_before == 1 && runs_after == 1) {
    if (!before.of_turns.any() && !after.of_turns.any()) return;
    error_ = scale * before.of_turns.StandardError() +
             after.of_turns.StandardError();
    df_ =
        std::min(before.of_turns.any() ? before.of_turns.Freedom() : kInfinite,
                 after.of_turns.any() ? after.of_turns.Freedom() : kInfinite);
    return;
  }
  noise_known_ = true;
  is_ratio_ = base_ > 0 && mean > 0;
  // What errors are parts of: their own side's mean, or nothing.
  const double unit_before = is_ratio_ ? before.Mean() : 1 / scale;
  const double unit_after = is_ratio_ ? mean : 1;
  if (is_ratio_) {
    effect_ = std::log(mean / base_);
    below_ = std::log1p(scale * before.above / base_) -
             std::log1p(-std::min(1.0, after.below / mean));
    above_ = std::log1p(after.above / mean) -
             std::log1p(-std::min(1.0, scale * before.below / base_));
  }
  const double squares_before =
      SquaredDeviations(before) / (unit_before * unit_before);
  const double squares_after =
      SquaredDeviations(after) / (unit_after * unit_after);
  const double least_before =
      LeastVariance(before) / (unit_before * unit_before);
  const double least_after = LeastVariance(after) / (unit_after * unit_after);
  if (runs_before == 1 || runs_after == 1) {
    // A single run has no deviation.
    df_ = runs_before + runs_after - 2;
    const double several = runs_before == 1 ? squares_after : squares_before;
    error_ = std::sqrt(several / df_ * (1 / runs_before + 1 / runs_after));
    // With several runs, their spread contains an unknown error.
    const double of_single = runs_before == 1
                                 ? before.of_turns.StandardError() / unit_before
                                 : after.of_turns.StandardError() / unit_after;
    const double of_others =
        std::sqrt(runs_before == 1 ? least_after : least_before);
    error_ = std::max(error_, std::hypot(of_single, of_others));
    return;
  }
  // Welch's t with Satterthwaite's degrees of freedom.
  const double b =
      std::max(squares_before / (runs_before - 1) / runs_before, least_before);
  const double a =
      std::max(squares_after / (runs_after - 1) / runs_after, least_after);
  error_ = std::sqrt(a + b);
  const double quartic = a * a / (runs_after - 1) + b * b / (runs_before - 1);
  df_ = quartic > 0 ? (a + b) * (a + b) / quartic
                    : std::min(runs_before, runs_after) - 1;
}

double Difference::TailOf(double missing) const {
  const double least = std::fabs(effect_) - missing;
  if (!(least > 0) || std::isinf(error_)) return 1;
  return error_ > 0 ? TwoSidedTail(least / error_, df_) : 0;
}

Verdict Difference::VerdictAt(double tail) const {
  if (TailBeyondLoss() < tail) {
    return noise_known_ ? Verdict::kBeyondNoise : Verdict::kNoiseUnknown;
  }
  return TailOf(0) < tail ? Verdict::kMayBeLoss : Verdict::kWithinNoise;
}

std::optional<double> Difference::Detectable(double tail) const {
  // A deviation from few runs is too small on average.
  const double error = error_ / (1 - 1 / (4 * df_));
  const double detectable =
      std::max(below_, above_) + error * DetectableShift(tail, df_);
  if (!noise_known_ || !std::isfinite(detectable)) return std::nullopt;
  return is_ratio_ ? base_ * std::expm1(detectable) : detectable;
}

Interval Difference::At(double tail) const {
  double reach = 0;
  if (std::isinf(error_)) {
    reach = kInfinite;
  } else if (error_ > 0) {
    reach = error_ * TwoSidedQuantile(tail, df_);
  }
  // Infinite bounds stay infinite; inf - inf cannot occur, since `effect_` is
  // finite.
  Interval interval{below_ == kInfinite ? -kInfinite : effect_ - below_ - reach,
                    above_ == kInfinite ? kInfinite : effect_ + above_ + reach};
  if (is_ratio_) {
    return {base_ * std::expm1(interval.low),
            base_ * std::expm1(interval.high)};
  }
  return interval;
}

std::size_t Discoveries(std::vector<double> p_values, double rate) {
  std::sort(p_values.begin(), p_values.end());
  const auto tests = static_cast<double>(p_values.size());
  std::size_t discoveries = 0;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (p_values[i] < rate * static_cast<double>(i + 1) / tests) {
      discoveries = i + 1;
    }
  }
  return discoveries;
}

}  // namespace countrace::rmap::diff
