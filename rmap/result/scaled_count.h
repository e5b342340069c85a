// Estimates from multiplexed event sets: what a row would have counted if its
// set had been counted all the time.
//
// A slice is what a row did during one rotation of a set on one CPU: it counted
// y in the x ns in which it ran there. Over all slices the row counted R = sum
// y / sum x a ns, and so R * X in its X ns (ratio estimator; Cochran, Sampling
// Techniques, 6.4). For user hooks x is calls (EstimateCalls()), for kernel
// hooks a slice is a call.
//
// The recorder draws two intervals for each set in each round, so the two
// slices of a round are a random sample of it, and their difference shows how
// much its intervals differ, whatever the program does and however slowly the
// machine drifts (two units in each stratum; Cochran, 5A.11). With e = y - R x
// and f = sum x / X the standard error is
//   X / sum x * sqrt((1 - f) * sum over rounds of
//                                  (e1 - e2)^2 (1 + 2 |x1 - x2| / sum x)),
// that sum at least 1. A slice without another one is a round of its own: x2 =
// e2 = 0. The factor: R follows a slice that outweighs the other one of its
// round, so that its own deviation looks smaller than it is (the jackknife's
// correction). The 1: as if one event had been counted in one slice. A few
// small counts can agree by chance, and a count of 0 can be one event that was
// in none of the rotations.
#ifndef COUNTRACE_RMAP_RESULT_SCALED_COUNT_H_
#define COUNTRACE_RMAP_RESULT_SCALED_COUNT_H_

#include <cstdint>
#include <optional>

#include "rmap/result/limits.h"

namespace countrace::rmap {

// An estimate and what it rests on.
struct ScaledCount {
  std::uint64_t value = 0;    // the estimate
  std::uint64_t counted = 0;  // what was counted
  std::uint64_t running =
      0;  // part of `enabled` in which the set was counted (ns, or calls)
  std::uint64_t enabled = 0;
  // Part of `enabled` in which no set was counted: the recorder changed them.
  std::uint64_t between = 0;
  std::uint64_t slices = 0;
  // Of `value`; absent if one slice outweighs the others: it does not show the
  // variation. 0: the set was counted all the time.
  std::optional<double> standard_error = std::nullopt;
  double freedom = 1;  // degrees of freedom of the standard error
  // What was counted varies less than what was not counted may differ from it:
  // the standard error is that of a rule of three.
  bool of_unseen = false;

  // Holds the true count in 95 % of cases; absent like the standard error. The
  // variance of a count grows with the count, so that of a few events reaches
  // further up than down (Wilson's score interval). It never excludes what was
  // counted. If nothing was counted: up to the number of events of which all
  // are missed in 5 % of cases, 3 / f for a small part f of the time (rule of
  // three). This holds for events that come one by one. Between two sets there
  // may have been fewer: that time is the recorder's in part.
  std::optional<Bounds> Interval95() const;
  // The same; of an unknown one, what was counted, at least.
  Bounds Limits() const { return Interval95().value_or(Bounds{.lo = counted}); }
};

// What a row did in one rotation.
struct Slice {
  std::uint64_t x = 0, y = 0;
};

class SliceSums {
 public:
  // The slices of one set in one round; `b` is empty if there is one only. A
  // slice with x = 0 is empty: the row did not run in that rotation.
  void Add(Slice a, Slice b = {});
  void Merge(const SliceSums& other);
  std::uint64_t counted() const { return y_; }
  std::uint64_t running() const { return x_; }
  // `whole`: the x of a set that is counted all the time. Absent if the set was
  // never counted while the row ran. `least`: of the sum over rounds.
  std::optional<ScaledCount> Estimate(std::uint64_t whole,
                                      double least = 1) const;

 private:
  std::uint64_t slices_ = 0, rounds_ = 0, x_ = 0, y_ = 0;
  // Doubles: squares of ns soon exceed 64 bits, and relative errors of 1e-16 do
  // not matter in a standard error.
  double squares_ = 0;                        // of x
  double dx_dx_ = 0, dx_dy_ = 0, dy_dy_ = 0;  // dx = x1 - x2, dy = y1 - y2
  // The same, times |dx|.
  double weighted_dx_dx_ = 0, weighted_dx_dy_ = 0, weighted_dy_dy_ = 0;
};

// The calls of a path at user hooks. Rounds are those of each thread. Its last
// two are a stratum of their own: the last one ends anywhere, so that its
// slices are not a random sample of two, and at the end of a program that
// drifts they would outweigh all others.
struct CallSlices {
  SliceSums earlier, last;
  std::uint64_t calls = 0, last_calls = 0;  // counted or not
  std::uint64_t most = 0;                   // counted in one call
};
// Absent as in SliceSums::Estimate(). What calls that were not counted did
// differently is not in the slices. So the interval reaches at least as far as
// if of them as many as are all missed in 5 % of cases (rule of three) had
// counted nothing, or `most` more than others.
std::optional<ScaledCount> EstimateCalls(const CallSlices& slices);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_SCALED_COUNT_H_
