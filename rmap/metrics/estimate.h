// A number with its quality, and arithmetic that keeps the quality correct.
//
// - exact: only a value.
// - scaled: first-order propagation of standard errors. An estimate stores its
//   slope for each uncertain input, so an input that enters twice (x / (x + y))
//   is correlated with itself, exactly.
// - bounded: interval arithmetic; without a bound there is no interval.
// - inferred: marked, without further information.
// The result has the worst of the inputs' qualities.
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_METRICS_ESTIMATE_H_
#define COUNTRACE_RMAP_METRICS_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap::metrics {

// An input of the rules: a count or time of one row of a report.
struct Measured {
  double value = 0;
  Quality quality = Quality::kExact;
  // kScaled: for this number alone; absent: unknown.
  std::optional<double> standard_error;
  // kScaled: the part of the error that all counts of one event set share,
  // relative to the value, since they were scaled by the same time. It cancels
  // in a ratio of two of them. `set` identifies the sets of one row.
  std::optional<double> shared_relative_error;
  std::uint32_t set = 0;
  // kBounded: the true value lies between them; both or none.
  std::optional<double> lo, hi;
};

struct Interval {
  double lo = 0, hi = 0;
  bool operator==(const Interval&) const = default;
};

struct Estimate {
  double value = 0;
  Quality quality = Quality::kExact;
  // Range of the true value, apart from scaled and inferred inputs; absent:
  // unknown.
  std::optional<Interval> interval;
  // Slope for each uncertain input (its id), ascending.
  std::vector<std::pair<std::uint64_t, double>> slopes;
  bool errors_known = true;  // for all scaled inputs
};

// The errors of all uncertain inputs, by id.
class InputErrors {
 public:
  // `shared`: the part of the error that all inputs of `group` have in common.
  // Returns the input's id, from 1.
  std::uint64_t Add(double own, double shared, std::uint64_t group);
  // First order: own parts are independent, shared ones add up within a group.
  double StandardError(const Estimate& estimate) const;

 private:
  struct Source {
    double own = 0, shared = 0;
    std::uint64_t group = 0;
  };
  std::vector<Source> sources_;
};

// Requires: `id` belongs to this input alone; 0 if it has no error.
Estimate FromMeasured(const Measured& input, std::uint64_t id);
Estimate Constant(double value);

Estimate Negated(const Estimate& a);
Estimate Sum(const Estimate& a, const Estimate& b);
Estimate Difference(const Estimate& a, const Estimate& b);
Estimate Product(const Estimate& a, const Estimate& b);
// Requires: b.value != 0.
Estimate Quotient(const Estimate& a, const Estimate& b);
Estimate Least(const Estimate& a, const Estimate& b);
Estimate Greatest(const Estimate& a, const Estimate& b);
Estimate Absolute(const Estimate& a);
// Requires: a.value >= 0.
Estimate SquareRoot(const Estimate& a);

// Adds `factor` * slopes of `b` to the slopes of `a`.
void AddSlopes(const std::vector<std::pair<std::uint64_t, double>>& b,
               double factor, std::vector<std::pair<std::uint64_t, double>>& a);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_ESTIMATE_H_
