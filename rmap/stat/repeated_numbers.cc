#include "rmap/stat/repeated_numbers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "rmap/result/student_t.h"

namespace countrace::rmap {
namespace {

// What bounds leave open below and above the values, summed over all runs.
struct Doubt {
  double less = 0, more = 0;
  bool unlimited = false;

  void Add(const StatNumber& one) {
    if (one.quality != Quality::kBounded || !one.bounds) return;
    less += static_cast<double>(one.value - one.bounds->lo);
    unlimited |= one.bounds->hi == Bounds::kNone;
    if (!unlimited) more += static_cast<double>(one.bounds->hi - one.value);
  }
};

void SetMean(const Doubt& doubt, RepeatedNumber& number) {
  const double runs = static_cast<double>(number.values.size());
  for (const std::uint64_t value : number.values) {
    number.mean += static_cast<double>(value) / runs;
  }
  if (number.values.size() < 2) return;
  double squares = 0;
  for (const std::uint64_t value : number.values) {
    squares += std::pow(static_cast<double>(value) - number.mean, 2);
  }
  number.deviation = std::sqrt(squares / (runs - 1));
  const double half =
      TwoSidedQuantile(0.05, runs - 1) * *number.deviation / std::sqrt(runs);
  number.lo = std::max(0.0, number.mean - half - doubt.less / runs);
  if (!doubt.unlimited) number.hi = number.mean + half + doubt.more / runs;
}

}  // namespace

std::vector<RepeatedNumber> RepeatedNumbersOf(
    const std::vector<std::vector<StatNumber>>& runs) {
  std::vector<RepeatedNumber> numbers;
  std::map<std::string, Doubt> doubts;
  for (const std::vector<StatNumber>& run : runs) {
    for (const StatNumber& one : run) {
      auto number = std::find_if(numbers.begin(), numbers.end(),
                                 [&one](const RepeatedNumber& known) {
                                   return known.name == one.name;
                                 });
      if (number == numbers.end()) {
        number = numbers.insert(
            number,
            {.name = one.name, .is_time = one.is_time, .is_part = one.is_part});
      }
      number->values.push_back(one.value);
      doubts[one.name].Add(one);
      number->quality = Worse(number->quality, one.quality);
      if (number->note.empty()) number->note = one.note;
    }
  }
  for (RepeatedNumber& number : numbers) SetMean(doubts[number.name], number);
  return numbers;
}

}  // namespace countrace::rmap
