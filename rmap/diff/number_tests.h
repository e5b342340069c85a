// Tests all numbers of a comparison together: among hundreds some always differ
// by chance.
//
// Two families: numbers of rows with a noteworthy part of the time, and those
// of all other rows, which are many in a trace of a whole system. Each has its
// part of the allowed rate of false discoveries, so that together they keep
// the rate (the false part of the union is at most the sum of the two false
// parts), and few rows that matter do not pay for many that do not. The choice
// of the family must not depend on the side of a run (Bourgon, Gentleman and
// Huber 2010).
// Thread: one.
#ifndef COUNTRACE_RMAP_DIFF_NUMBER_TESTS_H_
#define COUNTRACE_RMAP_DIFF_NUMBER_TESTS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "rmap/diff/diff_tables.h"
#include "rmap/diff/difference.h"

namespace countrace::rmap::diff {

class NumberTests {
 public:
  enum Family : std::size_t { kLarge, kSmall };

  // Begin() for all numbers, Decide() once, then End() for all numbers.
  Change Begin(const Sample& before, const Sample& after, Quality quality,
               Family family);
  // `rate`: the largest part of the discoveries that may be false.
  void Decide(double rate);
  void End(const Sample& before, const Sample& after, Family family,
           Change& change) const;

  // Numbers that were tested, and those that were beyond noise.
  std::size_t size() const;
  std::size_t discoveries() const;
  // 1 - level of the intervals.
  double tail(Family family) const { return families_[family].tail; }
  // The level at which several runs would have to show a change of one number
  // of a large row.
  double tail_of_one_change() const { return families_[kLarge].tail_of_one; }

 private:
  struct Tested {
    std::vector<double> p_values;
    std::size_t varying = 0;  // also without p value: one run each
    std::size_t discoveries = 0;
    double tail = 0, tail_of_one = 0;
  };
  std::array<Tested, 2> families_;
};

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_NUMBER_TESTS_H_
