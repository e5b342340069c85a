#include "rmap/diff/number_tests.h"

#include <algorithm>

namespace countrace::rmap::diff {

namespace {

// The part of the rate for large rows, if there are small ones.
constexpr double kPartOfLarge = 0.8;

bool AllTheSame(const Sample& before, const Sample& after) {
  const double value = before.values.front();
  const auto same = [value](double other) { return other == value; };
  return std::all_of(before.values.begin(), before.values.end(), same) &&
         std::all_of(after.values.begin(), after.values.end(), same);
}

double AtLeastOne(std::size_t number) {
  return static_cast<double>(std::max<std::size_t>(number, 1));
}

}  // namespace

Change NumberTests::Begin(const Sample& before, const Sample& after,
                          Quality quality, Family family) {
  Change change;
  change.before = before.Mean();
  change.after = after.Mean();
  change.quality = quality;
  change.constant = AllTheSame(before, after);
  change.error_before = before.of_turns;
  change.error_after = after.of_turns;
  const Difference difference(before, after);
  if (difference.noise_known()) change.p = difference.p();
  // A number that is the same in all runs of both sides is not tested.
  if (change.constant) return change;
  ++families_[family].varying;
  if (change.p) families_[family].p_values.push_back(*change.p);
  return change;
}

void NumberTests::Decide(double rate) {
  for (const Family family : {kLarge, kSmall}) {
    Tested& tested = families_[family];
    const bool alone = families_[1 - family].varying == 0;
    const double part = alone              ? 1
                        : family == kLarge ? kPartOfLarge
                                           : 1 - kPartOfLarge;
    tested.discoveries = Discoveries(tested.p_values, part * rate);
    tested.tail = part * rate * AtLeastOne(tested.discoveries) /
                  AtLeastOne(tested.p_values.size());
    // Nothing is decided from one run each: intervals have the usual level.
    if (size() == 0) tested.tail = rate;
    tested.tail_of_one = part * rate / AtLeastOne(tested.varying);
  }
  for (const Family family : {kLarge, kSmall}) {
    if (families_[family].varying != 0) continue;
    families_[family].tail = families_[1 - family].tail;
  }
}

void NumberTests::End(const Sample& before, const Sample& after, Family family,
                      Change& change) const {
  const double tail = families_[family].tail;
  const Difference difference(before, after);
  if (!difference.is_bare()) change.interval = difference.At(tail);
  change.verdict = difference.VerdictAt(tail);
  if (!change.constant) change.detectable = difference.Detectable(tail);
}

std::size_t NumberTests::size() const {
  return families_[kLarge].p_values.size() + families_[kSmall].p_values.size();
}

std::size_t NumberTests::discoveries() const {
  return families_[kLarge].discoveries + families_[kSmall].discoveries;
}

}  // namespace countrace::rmap::diff
