// Estimates from multiplexed event sets: what a row would have counted if its
// set had been counted all the time.
//
// A slice is what a row did during one rotation of a set on one CPU: it counted
// y in the x ns in which it ran there. Over n slices the row counted R = sum y
// / sum x a ns, and so R * X in its X ns (ratio estimator; Cochran, Sampling
// Techniques, 6.4 and 2.8): standard error
//   X / sum x
//     * sqrt(n / (n - 1) * (1 - f) * sum (y - R x)^2 (1 + 2 x / sum x)),
// f = sum x / X. The last factor is the jackknife's: R follows a long slice, so
// that the slice's own deviation looks smaller than it is. For kernel hooks and
// user hooks, slices are calls.
#ifndef COUNTRACE_RMAP_STATE_SCALED_COUNT_H_
#define COUNTRACE_RMAP_STATE_SCALED_COUNT_H_

#include <cstdint>
#include <optional>

namespace countrace::rmap {

// An estimate and what it rests on.
struct ScaledCount {
  std::uint64_t value = 0;    // the estimate
  std::uint64_t counted = 0;  // what was counted
  std::uint64_t running =
      0;  // part of `enabled` in which the set was counted (ns, or calls)
  std::uint64_t enabled = 0;
  std::uint64_t slices = 0;
  // Of `value`; absent with one slice, which does not show the variation.
  std::optional<double> standard_error = std::nullopt;
  // Half the width of the 95 % confidence interval.
  std::optional<double> HalfWidth95() const;
};

class SliceSums {
 public:
  // Does nothing if `x` is 0: the row did not run in that rotation.
  void Add(std::uint64_t x, std::uint64_t y);
  void Merge(const SliceSums& other);
  std::uint64_t counted() const { return y_; }
  std::uint64_t running() const { return x_; }
  // `whole`: the x of a set that is counted all the time. Absent if the set was
  // never counted while the row ran.
  std::optional<ScaledCount> Estimate(std::uint64_t whole) const;

 private:
  std::uint64_t slices_ = 0, x_ = 0, y_ = 0;
  // Doubles: squares of ns soon exceed 64 bits, and relative errors of 1e-16 do
  // not matter in a standard error.
  double xx_ = 0, xy_ = 0, yy_ = 0, xxx_ = 0, xxy_ = 0, xyy_ = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_SCALED_COUNT_H_
