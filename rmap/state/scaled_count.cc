#include "rmap/state/scaled_count.h"

#include <algorithm>
#include <cmath>

namespace countrace::rmap {

void SliceSums::Add(std::uint64_t x, std::uint64_t y) {
  if (x == 0) return;
  ++slices_;
  x_ += x;
  y_ += y;
  const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
  xx_ += dx * dx;
  xy_ += dx * dy;
  yy_ += dy * dy;
  xxx_ += dx * dx * dx;
  xxy_ += dx * dx * dy;
  xyy_ += dx * dy * dy;
}

void SliceSums::Merge(const SliceSums& other) {
  slices_ += other.slices_;
  x_ += other.x_;
  y_ += other.y_;
  xx_ += other.xx_;
  xy_ += other.xy_;
  yy_ += other.yy_;
  xxx_ += other.xxx_;
  xxy_ += other.xxy_;
  xyy_ += other.xyy_;
}

std::optional<ScaledCount> SliceSums::Estimate(std::uint64_t whole) const {
  if (x_ == 0) return std::nullopt;
  ScaledCount scaled;
  scaled.counted = y_;
  scaled.running = x_;
  // The running time is read shortly after the record's own time.
  scaled.enabled = std::max(whole, x_);
  scaled.slices = slices_;
  const auto n = static_cast<double>(slices_);
  const auto x = static_cast<double>(x_), y = static_cast<double>(y_);
  const double ratio = y / x;
  const double all = static_cast<double>(scaled.enabled);
  scaled.value = static_cast<std::uint64_t>(std::llround(ratio * all));
  if (slices_ < 2) return scaled;
  const double squares = yy_ - 2 * ratio * xy_ + ratio * ratio * xx_;
  const double weighted = xyy_ - 2 * ratio * xxy_ + ratio * ratio * xxx_;
  const double fraction = x / all;
  scaled.standard_error = all / x *
                          std::sqrt(n / (n - 1) * (1 - fraction) *
                                    std::max(0.0, squares + 2 * weighted / x));
  return scaled;
}

std::optional<double> ScaledCount::HalfWidth95() const {
  if (!standard_error) return std::nullopt;
  // Student's t at 97.5 % for slices - 1 degrees of freedom, by its expansion
  // in 1 / df (Abramowitz and Stegun, 26.7.5). The exact values for 1 and 2,
  // where the expansion is too small.
  const auto df = static_cast<double>(slices - 1);
  constexpr double kZ = 1.959964, kZ3 = kZ * kZ * kZ, kZ5 = kZ3 * kZ * kZ;
  const double t = slices == 2 ? 12.7062
                   : slices == 3
                       ? 4.3027
                       : kZ + (kZ3 + kZ) / (4 * df) +
                             (5 * kZ5 + 16 * kZ3 + 3 * kZ) / (96 * df * df);
  return t * *standard_error;
}

}  // namespace countrace::rmap
