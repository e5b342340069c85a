// The difference of one number between two sets of runs, and how sure it is.
//
// Two or more runs on both sides: Welch's t, which needs neither equal
// variances nor equal numbers of runs (Welch 1947; Ruxton 2006). A permutation
// test could not decide anything for so few runs: 3 and 3 have 20 arrangements,
// so its smallest p value is 0.1. One run against several: the spread of the
// several stands for both (pooled t). One run each: the noise from run to run
// is unknown. The spread of the calls inside a run does not show it, since they
// share the luck of the run.
//
// Times and counts cannot be negative. So where both means are above 0, Welch's
// t is that of the logarithm of their ratio, whose error is about the root of
// the sum of both squared relative errors (delta method): no interval reaches
// below -100 %.
//
// Estimates from multiplexed event sets have standard errors. One run each: the
// interval of the difference reaches from the ends of one side's interval to
// those of the other's, so that it contains 0 if the two overlap. Several runs:
// their spread includes the errors, and counts at least as much as these.
//
// Numbers known only within bounds (records were lost) widen the interval by
// all that may be missing. Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_DIFFERENCE_H_
#define COUNTRACE_RMAP_DIFF_DIFFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace countrace::rmap::diff {

// The error of an estimate from a multiplexed event set.
struct SamplingError {
  double variance = 0;  // infinite: unknown
  // Sum of each part's variance^2 / degrees of freedom.
  double quartic = 0;

  // `freedom`: degrees of freedom of the standard error.
  static SamplingError Of(const std::optional<double>& standard_error,
                          double freedom);
  bool any() const { return variance > 0; }
  double StandardError() const;
  // Satterthwaite's degrees of freedom; at least 1.
  double Freedom() const;
  // Half the width of the 95 % confidence interval, as reports print it.
  double HalfWidth95() const;
  // The error of a sum or a difference.
  void Add(const SamplingError& other);
  void Divide(double divisor);
};

// One number in every run of one side.
struct Sample {
  std::vector<double> values;  // not empty
  // The smallest step between two values: 1 for a count, 1/calls for a count
  // per call. Runs that agree exactly still have this uncertainty.
  double resolution = 1;
  // The true mean lies in [mean - below, mean + above]; infinite without a
  // bound.
  double below = 0, above = 0;
  // The error of the mean from event sets.
  SamplingError of_turns;

  double Mean() const;
};

struct Interval {
  double low = 0, high = 0;
};

enum class Verdict : std::uint8_t {
  kWithinNoise,  // the interval contains 0
  kBeyondNoise,  // the interval does not contain 0
  kMayBeLoss,    // it contains 0 only because lost records may be missing
  // One run each: the numbers differ, by more than the errors of estimates and
  // what may be missing, and the noise between runs is unknown.
  kNoiseUnknown
};
const char* VerdictName(Verdict verdict);  // "within_noise", ...

// after - scale * before.
class Difference {
 public:
  Difference(const Sample& before, const Sample& after, double scale = 1);

  double value() const { return value_; }
  // False: one run each. Then p() is 1, and an interval covers only the errors
  // of estimates and what may be missing.
  bool noise_known() const { return noise_known_; }
  // Both sides are exact numbers: no noise is known, nothing is missing.
  bool is_bare() const {
    return !noise_known_ && error_ == 0 && below_ == 0 && above_ == 0;
  }
  // How often noise gives at least this difference, after subtracting what may
  // be missing.
  double p() const { return noise_known_ ? TailBeyondLoss() : 1; }
  Verdict VerdictAt(double tail) const;
  // Contains the true difference with probability 1 - tail. It excludes 0
  // exactly if p() < tail, where the noise is known.
  Interval At(double tail) const;
  // The size of a true change that these runs find at `tail` with the
  // probability kPower (power.h). Absent: the noise is unknown, or any change
  // may be missing.
  std::optional<double> Detectable(double tail) const;

 private:
  double TailOf(double missing) const;
  double TailBeyondLoss() const {
    return TailOf(effect_ > 0 ? below_ : above_);
  }

  double value_ = 0, base_ = 0;  // `base_`: scale * before
  // The numbers below are of log(after / base), not of after - base.
  bool is_ratio_ = false;
  double effect_ = 0;
  double error_ = 0, df_ = 1;  // standard error, degrees of freedom
  double below_ = 0, above_ = 0;
  bool noise_known_ = false;
};

// Benjamini and Hochberg (1995): how many of `p_values`, the smallest ones, are
// discoveries if at most `rate` of the discoveries may be false.
std::size_t Discoveries(std::vector<double> p_values, double rate);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_DIFFERENCE_H_
