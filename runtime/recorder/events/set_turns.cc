#include "runtime/recorder/events/set_turns.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace countrace::runtime {

bool SetTurns::IsDue(std::uint64_t now_ns, std::uint64_t turn_ns) {
  if (!rotates()) return false;
  if (last_ns_ == 0) last_ns_ = now_ns;
  // Rotates at the call nearest to the end of the interval.
  if (now_ns - last_ns_ + turn_ns / 2 < rotate_ns_) return false;
  last_ns_ = now_ns;
  return true;
}

std::uint32_t SetTurns::Next(std::size_t cpu, std::uint32_t current) {
  if (cpu >= rounds_.size()) rounds_.resize(cpu + 1);
  std::vector<std::uint32_t>& round = rounds_[cpu];
  if (round.empty()) {
    round.resize(sets_);
    std::iota(round.begin(), round.end(), 0u);
    std::shuffle(round.begin(), round.end(), random_);
    // A set twice in a row would be one long interval.
    if (round.back() == current) std::swap(round.front(), round.back());
  }
  const std::uint32_t next = round.back();
  round.pop_back();
  return next;
}

}  // namespace countrace::runtime
