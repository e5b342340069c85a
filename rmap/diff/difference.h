// The difference of one number between two sets of runs, and how sure it is.
//
// Two or more runs on both sides: Welch's t, which asks neither for equal
// variances nor for equal numbers of runs (Welch 1947; Ruxton 2006). A
// permutation test could not decide anything for so few runs: of 3 and 3 there
// are 20 arrangements, so its smallest p value is 0.1. One run against several:
// the spread of the several stands for both (pooled t). One run each: only
// what the spread of the calls inside the run says, if that is known; nothing
// is known then about noise from run to run.
//
// Estimates from event sets that took turns have standard errors. One run each:
// the interval of the difference reaches from the ends of one side's interval
// to those of the other's, so that it holds 0 if the two overlap. Several runs:
// their spread has the errors in it, and is not taken to be less than they are.
//
// Numbers that are known only within bounds (records were lost) make the
// interval wider by all that may be missing. Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_DIFFERENCE_H_
#define COUNTRACE_RMAP_DIFF_DIFFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace countrace::rmap::diff {

// How far an estimate may be off, since its event set took turns.
struct SamplingError {
  double variance = 0;  // infinite: not known
  // Sum of each part's variance^2 / degrees of freedom.
  double quartic = 0;

  // Few slices that agree do so by luck: then nothing is known either.
  static SamplingError Of(const std::optional<double>& standard_error,
                          std::uint64_t slices);
  bool any() const { return variance > 0; }
  double StandardError() const;
  // Satterthwaite; at least 1.
  double Freedom() const;
  // Half the interval that holds the truth with 95 % probability, as reports
  // print it.
  double HalfWidth95() const;
  // Of the sum of two numbers, or of their difference.
  void Add(const SamplingError& other);
  void Divide(double divisor);
};

// One number in every run of one side.
struct Sample {
  std::vector<double> values;  // not empty
  // The smallest step between two values: 1 of a count, 1/calls of a count per
  // call. Runs that agree exactly are known no better than that.
  double resolution = 1;
  // The true mean lies in [mean - below, mean + above]; infinite if it can be
  // anything.
  double below = 0, above = 0;
  // Of a single run: the standard error from the spread of its calls, and how
  // many those were.
  std::optional<double> error_of_calls;
  double calls = 0;
  // Of the mean.
  SamplingError of_turns;

  double Mean() const;
};

struct Interval {
  double low = 0, high = 0;
};

// after - scale * before.
class Difference {
 public:
  Difference(const Sample& before, const Sample& after, double scale = 1);

  double value() const { return value_; }
  // False: one run each, and nothing known of its noise. Then p() is 1, and an
  // interval holds only what may be missing.
  bool noise_known() const { return noise_known_; }
  // Both sides can only be this number: no noise is known, nothing is missing.
  bool is_bare() const { return !noise_known_ && below_ == 0 && above_ == 0; }
  // How often noise gives a difference at least as large as the least that this
  // one can be, given what may be missing.
  double p() const { return TailOf(value_ > 0 ? below_ : above_); }
  // The same if nothing were missing.
  double p_of_noise() const { return TailOf(0); }
  // Contains the true difference with probability 1 - tail. Exactly then does
  // it not contain 0 when p() < tail.
  Interval At(double tail) const;

 private:
  double TailOf(double missing) const;

  double value_ = 0;
  double error_ = 0, df_ = 1;  // standard error, degrees of freedom
  double below_ = 0, above_ = 0;
  bool noise_known_ = false;
};

// Benjamini and Hochberg (1995): how many of `p_values`, the smallest ones, are
// discoveries when at most `rate` of the discoveries may be false.
std::size_t Discoveries(std::vector<double> p_values, double rate);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_DIFFERENCE_H_
