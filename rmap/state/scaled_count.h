// Estimates from event sets that took turns: what a row would have counted, had
// its set been counted all the time.
//
// A slice is what a row did during one turn of a set on one CPU: it counted y
// in the x ns in which it ran there. Over n slices the row counted R = sum y /
// sum x a ns, and so R * X in its X ns (ratio estimator; Cochran, Sampling
// Techniques, 6.4 and 2.8): standard error
//   X / sum x
//     * sqrt(n / (n - 1) * (1 - f) * sum (y - R x)^2 (1 + 2 x / sum x)),
// f = sum x / X. The last factor is the jackknife's: R follows a long slice,
// and so that one's own deviation looks smaller than it is. Slices of kernel
// hooks and of user hooks are calls.
#ifndef COUNTRACE_RMAP_STATE_SCALED_COUNT_H_
#define COUNTRACE_RMAP_STATE_SCALED_COUNT_H_

#include <cstdint>
#include <optional>

namespace countrace::rmap {

// What is known beside the estimate.
struct ScaledCount {
  std::uint64_t value = 0;    // the estimate
  std::uint64_t counted = 0;  // what was counted
  std::uint64_t running =
      0;  // of `enabled`: its set was counted (ns, or calls)
  std::uint64_t enabled = 0;
  std::uint64_t slices = 0;
  // Of `value`; absent: one slice says nothing of how much they vary.
  std::optional<double> standard_error = std::nullopt;
  // Half the width of the interval that holds the truth with 95 % probability.
  std::optional<double> HalfWidth95() const;
};

class SliceSums {
 public:
  // `x` > 0 or nothing happens: the row was not there in that turn.
  void Add(std::uint64_t x, std::uint64_t y);
  void Merge(const SliceSums& other);
  std::uint64_t counted() const { return y_; }
  std::uint64_t running() const { return x_; }
  // `whole`: what x would be, had the set been counted all the time. Absent if
  // it never was while the row ran.
  std::optional<ScaledCount> Estimate(std::uint64_t whole) const;

 private:
  std::uint64_t slices_ = 0, x_ = 0, y_ = 0;
  // Doubles: squares of ns fill 64 bits soon; relative errors of 1e-16 do not
  // matter in a standard error.
  double xx_ = 0, xy_ = 0, yy_ = 0, xxx_ = 0, xxy_ = 0, xyy_ = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_SCALED_COUNT_H_
