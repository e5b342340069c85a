// Page faults of a process by what they were and where. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_FAULT_SUMS_H_
#define COUNTRACE_RMAP_STATE_FAULT_SUMS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

namespace countrace::rmap {

// A fault record, as it is added up.
struct FaultPlace {
  static constexpr unsigned kRangeBits = 21;  // 2 MiB: a page of page tables
  static constexpr std::uint64_t kOtherRanges = ~std::uint64_t{0};

  std::uint32_t hook_id = 0;  // of the open fault; 0: --kernel faults is off
  std::uint64_t range = 0;    // address >> kRangeBits, or kOtherRanges

  auto operator<=>(const FaultPlace&) const = default;
};

struct FaultSum {
  std::uint64_t faults = 0;
  std::uint64_t major = 0;  // part of `faults`, if their ends were recorded
};

class FaultSums {
 public:
  // Most ranges of a process; the rest are one.
  static constexpr std::size_t kMaxRanges = 4096;

  // Returns: the place that it is part of.
  FaultPlace Add(std::uint32_t hook_id, std::uint64_t address) {
    FaultPlace place = {hook_id, address >> FaultPlace::kRangeBits};
    if (sums_.size() >= kMaxRanges && !sums_.contains(place)) {
      place.range = FaultPlace::kOtherRanges;
    }
    ++sums_[place].faults;
    return place;
  }
  // The fault that was added to `place` was a major one.
  void AddMajor(const FaultPlace& place) {
    const auto sum = sums_.find(place);
    if (sum != sums_.end()) ++sum->second.major;
  }
  void Clear() { sums_.clear(); }

  const std::map<FaultPlace, FaultSum>& sums() const { return sums_; }

 private:
  std::map<FaultPlace, FaultSum> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_FAULT_SUMS_H_
