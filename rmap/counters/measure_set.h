// A set of measures (event_set_dumps.h): one bit for each.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_MEASURE_SET_H_
#define COUNTRACE_RMAP_COUNTERS_MEASURE_SET_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::rmap {

// Events, and the running times of sets.
inline constexpr std::size_t kMaxMeasures =
    logformat::kMaxEvents + logformat::kMaxEventSets;

class MeasureSet {
 public:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kWords =
      (kMaxMeasures + kWordBits - 1) / kWordBits;

  constexpr MeasureSet() = default;
  // Measures 0 to 63 as bits, such as EventRecord::present.
  explicit constexpr MeasureSet(std::uint64_t low) : words_{low} {}
  static constexpr MeasureSet Of(std::size_t measure) {
    MeasureSet set;
    set.Add(measure);
    return set;
  }

  // Requires: measure < kMaxMeasures, in all of these.
  constexpr bool Has(std::size_t measure) const {
    return (words_[measure / kWordBits] >> (measure % kWordBits) & 1u) != 0;
  }
  constexpr void Add(std::size_t measure) {
    words_[measure / kWordBits] |= Bit(measure);
  }
  constexpr void Remove(std::size_t measure) {
    words_[measure / kWordBits] &= ~Bit(measure);
  }

  constexpr bool empty() const {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words_) any |= word;
    return any == 0;
  }
  constexpr bool Intersects(const MeasureSet& other) const {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < kWords; ++i) any |= words_[i] & other.words_[i];
    return any != 0;
  }
  // Those of `other` too; those of `other` not.
  constexpr MeasureSet& operator|=(const MeasureSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    return *this;
  }
  constexpr MeasureSet& operator-=(const MeasureSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  friend constexpr MeasureSet operator|(MeasureSet a, const MeasureSet& b) {
    return a |= b;
  }
  friend constexpr MeasureSet operator-(MeasureSet a, const MeasureSet& b) {
    return a -= b;
  }
  friend constexpr bool operator==(const MeasureSet&,
                                   const MeasureSet&) = default;

  // visit(measure) for each, in ascending order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t i = 0; i < kWords; ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * kWordBits + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }
  // Measures 64 * index to 64 * index + 63 as bits.
  constexpr std::uint64_t word(std::size_t index) const {
    return words_[index];
  }
  constexpr std::uint64_t& word(std::size_t index) { return words_[index]; }

 private:
  static constexpr std::uint64_t Bit(std::size_t measure) {
    return std::uint64_t{1} << (measure % kWordBits);
  }

  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_MEASURE_SET_H_
