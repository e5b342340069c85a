#include "rmap/result/scaled_count.h"

#include <algorithm>
#include <cmath>

#include "rmap/result/student_t.h"

namespace countrace::rmap {
namespace {

constexpr double kMiss = 0.05;  // how often an interval may miss the truth

// With fewer slices that weigh, the variation is unknown.
constexpr double kLeastSlices = 1.5;

std::uint64_t Whole(double value) {
  return static_cast<std::uint64_t>(std::max(0.0, value));
}

// How many events, or calls, that come one by one are all missed in kMiss of
// cases. Requires: running < enabled.
double MostMissed(std::uint64_t running, std::uint64_t enabled) {
  return std::log(kMiss) / std::log1p(-static_cast<double>(running) /
                                      static_cast<double>(enabled));
}

void AddStratum(const ScaledCount& more, ScaledCount& sum) {
  const double a = *sum.standard_error * *sum.standard_error;
  const double b = *more.standard_error * *more.standard_error;
  sum.value += more.value;
  sum.counted += more.counted;
  sum.running += more.running;
  sum.enabled += more.enabled;
  sum.slices += more.slices;
  sum.standard_error = std::sqrt(a + b);
  // Satterthwaite's.
  const double quartic = a * a / sum.freedom + b * b / more.freedom;
  if (quartic > 0) sum.freedom = std::max(1.0, (a + b) * (a + b) / quartic);
}

}  // namespace

void SliceSums::Add(Slice a, Slice b) {
  if (a.x == 0) a = {};
  if (b.x == 0) b = {};
  if (a.x + b.x == 0) return;
  slices_ += (a.x != 0 ? 1 : 0) + (b.x != 0 ? 1 : 0);
  ++rounds_;
  x_ += a.x + b.x;
  y_ += a.y + b.y;
  const auto x1 = static_cast<double>(a.x), x2 = static_cast<double>(b.x);
  const double dx = x1 - x2;
  const double dy = static_cast<double>(a.y) - static_cast<double>(b.y);
  squares_ += x1 * x1 + x2 * x2;
  dx_dx_ += dx * dx;
  dx_dy_ += dx * dy;
  dy_dy_ += dy * dy;
  const double weight = std::abs(dx);
  weighted_dx_dx_ += weight * dx * dx;
  weighted_dx_dy_ += weight * dx * dy;
  weighted_dy_dy_ += weight * dy * dy;
}

void SliceSums::Merge(const SliceSums& other) {
  slices_ += other.slices_;
  rounds_ += other.rounds_;
  x_ += other.x_;
  y_ += other.y_;
  squares_ += other.squares_;
  dx_dx_ += other.dx_dx_;
  dx_dy_ += other.dx_dy_;
  dy_dy_ += other.dy_dy_;
  weighted_dx_dx_ += other.weighted_dx_dx_;
  weighted_dx_dy_ += other.weighted_dx_dy_;
  weighted_dy_dy_ += other.weighted_dy_dy_;
}

std::optional<ScaledCount> SliceSums::Estimate(std::uint64_t whole,
                                               double least) const {
  if (x_ == 0) return std::nullopt;
  ScaledCount scaled;
  scaled.counted = y_;
  scaled.running = x_;
  // The running time is read shortly after the record's own time.
  scaled.enabled = std::max(whole, x_);
  scaled.slices = slices_;
  const auto x = static_cast<double>(x_), y = static_cast<double>(y_);
  const double ratio = y / x;
  const double all = static_cast<double>(scaled.enabled);
  scaled.value = static_cast<std::uint64_t>(std::llround(ratio * all));
  if (x_ >= whole) {
    scaled.standard_error = 0;
    return scaled;
  }
  const double slices = x * x / squares_;
  if (slices < kLeastSlices) return scaled;
  scaled.freedom =
      std::max(1.0, std::min(slices - 1, static_cast<double>(rounds_)));
  const double squares = dy_dy_ - 2 * ratio * dx_dy_ + ratio * ratio * dx_dx_;
  const double weighted = weighted_dy_dy_ - 2 * ratio * weighted_dx_dy_ +
                          ratio * ratio * weighted_dx_dx_;
  // Rounding can make a sum of squares negative.
  const double differences =
      std::max(0.0, squares) + std::max(0.0, 2 * weighted / x);
  scaled.standard_error =
      all / x * std::sqrt((1 - x / all) * std::max(least, differences));
  return scaled;
}

std::optional<ScaledCount> EstimateCalls(const CallSlices& slices) {
  auto scaled = slices.earlier.Estimate(slices.calls - slices.last_calls, 0);
  const auto last = slices.last.Estimate(slices.last_calls, 0);
  if (scaled && scaled->standard_error && last && last->standard_error) {
    AddStratum(*last, *scaled);
  } else {
    SliceSums all = slices.earlier;
    all.Merge(slices.last);
    scaled = all.Estimate(slices.calls, 0);
  }
  if (!scaled || !scaled->standard_error ||
      scaled->running == scaled->enabled) {
    return scaled;
  }
  const auto most =
      static_cast<double>(std::max<std::uint64_t>(slices.most, 1));
  const double least = most * MostMissed(scaled->running, scaled->enabled) /
                       TwoSidedQuantile(kMiss, scaled->freedom);
  scaled->of_unseen = *scaled->standard_error < least;
  scaled->standard_error = std::max(*scaled->standard_error, least);
  return scaled;
}

std::optional<Bounds> ScaledCount::Interval95() const {
  if (!standard_error) return std::nullopt;
  if (*standard_error == 0) return Bounds{value, value};
  if (value == 0 && running != 0 && running < enabled) {
    return Bounds{0, Whole(MostMissed(running, enabled))};
  }
  const double estimate = std::max(1.0, static_cast<double>(value));
  // The counts N with (N - value)^2 = (t * standard error)^2 * N / value.
  const double half = TwoSidedQuantile(kMiss, freedom) * *standard_error;
  const double shift = half * half / (2 * estimate);
  const double reach = std::sqrt(half * half + shift * shift);
  Bounds interval;
  const double fewer = estimate * static_cast<double>(between) /
                       static_cast<double>(std::max<std::uint64_t>(enabled, 1));
  interval.lo =
      std::max(counted, Whole(std::ceil(estimate + shift - reach - fewer)));
  interval.hi = Whole(std::floor(estimate + shift + reach));
  interval.lo = std::min(interval.lo, value);
  interval.hi = std::max(interval.hi, value);
  return interval;
}

}  // namespace countrace::rmap
