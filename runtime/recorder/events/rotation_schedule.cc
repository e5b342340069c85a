#include "runtime/recorder/events/rotation_schedule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace countrace::runtime {

bool RotationSchedule::IsDue(std::uint64_t now_ns, std::uint64_t period_ns) {
  if (!rotates()) return false;
  // Rotates at the call nearest to the end of the interval.
  if (now_ns - last_ns_ + std::min(period_ns, rotate_ns_) / 2 < rotate_ns_) {
    return false;
  }
  last_ns_ = now_ns;
  return true;
}

std::uint32_t RotationSchedule::Next(std::size_t cpu) {
  if (cpu >= rounds_.size()) rounds_.resize(cpu + 1);
  std::vector<std::uint32_t>& round = rounds_[cpu];
  if (round.empty()) {
    round.resize(2 * sets_);
    const auto half = round.begin() + static_cast<std::ptrdiff_t>(sets_);
    std::iota(round.begin(), half, 0u);
    std::iota(half, round.end(), 0u);
    if (sets_ <= kFewSets) {
      std::shuffle(round.begin(), round.end(), random_);
    } else {
      std::shuffle(round.begin(), half, random_);
      std::shuffle(half, round.end(), random_);
    }
  }
  const std::uint32_t next = round.back();
  round.pop_back();
  return next;
}

}  // namespace countrace::runtime
