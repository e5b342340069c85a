#include "rmap/state/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace countrace::rmap {

bool LogHistogram::AddToFew(Place place) {
  if (octaves_ != 0) return false;
  if (few_.size() == kFew) {
    CountFew();
    return false;
  }
  few_.push_back(
      static_cast<std::uint16_t>(place.octave * kBuckets + place.bucket));
  return true;
}

void LogHistogram::CountFew() {
  for (const std::uint16_t place : std::exchange(few_, {})) {
    const std::size_t octave = place / kBuckets;
    if (octave - first_octave_ >= octaves_) Cover(octave);
    ++counts_[place - first_octave_ * kBuckets];
  }
}

void LogHistogram::Cover(std::size_t octave) {
  if (octaves_ == 0) {
    first_octave_ = octave;
    octaves_ = 1;
    counts_.assign(kBuckets, 0);
    return;
  }
  const std::size_t first = std::min(first_octave_, octave);
  const std::size_t last = std::max(first_octave_ + octaves_ - 1, octave);
  counts_.insert(counts_.begin(), (first_octave_ - first) * kBuckets, 0);
  first_octave_ = first;
  octaves_ = last - first + 1;
  counts_.resize(octaves_ * kBuckets, 0);
}

void LogHistogram::Merge(const LogHistogram& other) {
  for (const std::uint16_t place : other.few_) {
    const Place at = {place / kBuckets, place % kBuckets};
    if (AddToFew(at)) continue;
    if (at.octave - first_octave_ >= octaves_) Cover(at.octave);
    ++counts_[place - first_octave_ * kBuckets];
  }
  if (other.octaves_ == 0) return;
  CountFew();
  for (const std::size_t octave :
       {other.first_octave_, other.first_octave_ + other.octaves_ - 1}) {
    if (octave - first_octave_ >= octaves_) Cover(octave);
  }
  const std::size_t offset = (other.first_octave_ - first_octave_) * kBuckets;
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[offset + i] += other.counts_[i];
  }
}

std::uint64_t LogHistogram::Middle(std::size_t place) {
  const std::size_t octave = place / kBuckets;
  const std::uint64_t bucket = place % kBuckets;
  if (octave == 0) return bucket;
  const unsigned shift = static_cast<unsigned>(octave - 1);
  const std::uint64_t low = (bucket + kBuckets) << shift;
  return low + ((std::uint64_t{1} << shift) >> 1);
}

std::uint64_t LogHistogram::ValueAtRank(std::uint64_t rank) const {
  if (!few_.empty()) {
    std::vector<std::uint16_t> places = few_;
    const std::size_t at = std::min<std::size_t>(rank, places.size()) - 1;
    std::nth_element(places.begin(),
                     places.begin() + static_cast<std::ptrdiff_t>(at),
                     places.end());
    return Middle(places[at]);
  }
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return Middle(first_octave_ * kBuckets + i);
  }
  return 0;
}

void DurationStatistics::Merge(const DurationStatistics& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  squares_ += other.squares_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  histogram_.Merge(other.histogram_);
}

std::uint64_t DurationStatistics::Percentile(double fraction) const {
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(fraction * static_cast<double>(count_));
  const std::uint64_t rank =
      std::clamp(static_cast<std::uint64_t>(std::max(exact_rank, 1.0)),
                 std::uint64_t{1}, count_);
  return std::clamp(histogram_.ValueAtRank(rank), min_, max_);
}

Bounds DurationStatistics::PercentileLimits(double fraction,
                                            std::uint64_t missing,
                                            std::uint64_t wrong,
                                            std::uint64_t most) const {
  Bounds limits{0, most};
  if (missing > count_ || wrong > count_) return limits;
  const auto rank = static_cast<std::uint64_t>(std::max(
      std::ceil(fraction * static_cast<double>(count_ + missing)), 1.0));
  // A value is at most 1/128 from the middle of its bucket.
  if (rank > missing + wrong) {
    const std::uint64_t least = histogram_.ValueAtRank(rank - missing - wrong);
    limits.lo = std::clamp(least - least / 128, min_, max_);
  }
  if (rank + wrong <= count_) {
    const std::uint64_t longest = histogram_.ValueAtRank(rank + wrong);
    limits.hi = std::min(longest + longest / 127, max_);
  }
  return limits;
}

void DurationStatistics::Fill(TimeStatistics& out) const {
  if (count_ == 0) return;
  const double count = static_cast<double>(count_);
  // Sum of squares about the integer part of the mean, in integers, so that no
  // precision is lost by cancellation; the fraction adds less than 1 ns^2.
  const Wide centre = sum_ / count_;
  const Wide about_centre =
      squares_ + centre * centre * count_ - 2 * centre * sum_;
  const double fraction = static_cast<double>(sum_ % count_) / count;
  out.mean = static_cast<double>(centre) + fraction;
  out.stddev = std::sqrt(std::max(
      0.0, static_cast<double>(about_centre) / count - fraction * fraction));
  out.min = min_;
  out.max = max_;
  out.p50 = Percentile(0.50);
  out.p90 = Percentile(0.90);
  out.p99 = Percentile(0.99);
}

}  // namespace countrace::rmap
