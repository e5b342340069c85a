// Distribution of the durations of one call path: exact sums, and a log-linear
// histogram for percentiles.
//
// In: one duration for each call. Out: TimeStatistics. Memory: 2 bytes for each
// of the first 32 calls, because most paths of most processes have few; with
// more, at most 59 octaves of 64 counters (30 KiB), only for the range of
// octaves that occurs.
// Thread: one.
#ifndef COUNTRACE_RMAP_STATE_STATISTICS_H_
#define COUNTRACE_RMAP_STATE_STATISTICS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// 64 linear buckets for each power of two. A bucket's middle is at most 1/128
// (0.8 %) from any value in it; values below 128 are exact.
class LogHistogram {
 public:
  void Add(std::uint64_t value) {
    const Place place = Locate(value);
    const std::size_t octave = place.octave - first_octave_;
    if (octave >= octaves_) [[unlikely]] {
      if (AddToFew(place)) return;
      Cover(place.octave);
    }
    ++counts_[(place.octave - first_octave_) * kBuckets + place.bucket];
  }
  void Merge(const LogHistogram& other);
  // Middle of the bucket that holds the value of rank `rank` (1 = smallest).
  // Requires: 1 <= rank <= number of values added.
  std::uint64_t ValueAtRank(std::uint64_t rank) const;

 private:
  static constexpr std::size_t kBuckets = 64;
  static constexpr std::size_t kFew = 32;
  struct Place {
    std::size_t octave, bucket;
  };
  static Place Locate(std::uint64_t value) {
    if (value < kBuckets) return {0, static_cast<std::size_t>(value)};
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 7;
    return {shift + 1, static_cast<std::size_t>(value >> shift) - kBuckets};
  }
  // False: there are counters, or too many values for anything else.
  bool AddToFew(Place place);
  // Counters from now on.
  void CountFew();
  static std::uint64_t Middle(std::size_t place);
  // Makes room for `octave`, keeping the covered range contiguous.
  void Cover(std::size_t octave);

  std::size_t first_octave_ = 0;
  std::size_t octaves_ = 0;
  std::vector<std::uint64_t> counts_;  // octaves_ * kBuckets
  // Places of values (octave * kBuckets + bucket) while there are no counters.
  std::vector<std::uint16_t> few_;
};

// Sums are 128-bit integers instead of Welford's running mean: no division per
// call, no rounding, and two of them merge exactly in any order.
class DurationStatistics {
 public:
  void Add(std::uint64_t value) {
    ++count_;
    sum_ += value;
    squares_ += static_cast<Wide>(value) * value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    histogram_.Add(value);
  }
  void Merge(const DurationStatistics& other);

  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  // Nearest-rank percentile, 0 < fraction <= 1; 0 without values.
  std::uint64_t Percentile(double fraction) const;
  // Limits of that percentile, if up to `missing` values are not here, and up
  // to `wrong` of those that are here may be others, or none; no value is above
  // `most`. A value differs from its rank by these numbers alone.
  Bounds PercentileLimits(double fraction, std::uint64_t missing,
                          std::uint64_t wrong, std::uint64_t most) const;
  // Fills everything but incl and excl.
  void Fill(TimeStatistics& out) const;

 private:
  using Wide = unsigned __int128;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  Wide squares_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
  LogHistogram histogram_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_STATISTICS_H_
