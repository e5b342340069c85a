// HOT. The open segments of one thread whose dump rule has conditions, each
// with its decision: an exit carries a dump if its enter did, so that their
// difference can be computed. Plain C++ without a library. The runtime library
// keeps one for each thread, and so does the replay over a log.
//
// Used by the owner thread and the signal handlers that interrupt it. A handler
// that leaves as many segments as it enters changes nothing for the hook it
// interrupts.
#ifndef COUNTRACE_RUNTIME_RULES_OPEN_SEGMENTS_H_
#define COUNTRACE_RUNTIME_RULES_OPEN_SEGMENTS_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

// Valid, and empty, when all zero.
class OpenSegments {
 public:
  static constexpr std::uint32_t kMaxDepth = 4096;

  // Whether one more segment fits. If not, its enter must carry no dump: its
  // exit would have no decision to follow.
  bool has_room() const noexcept { return depth_ < kMaxDepth; }

  void Enter(std::uint32_t hook_id, bool dump) noexcept {
    if (depth_ >= kMaxDepth) {
      ++beyond_;
      return;
    }
    const std::uint32_t at = depth_;
    depth_ = at + 1;
    // Compiler order only: a handler that comes now must find the entry used.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entries_[at] = static_cast<std::uint16_t>(hook_id << 1 | (dump ? 1u : 0u));
  }

  // Returns the decision of the innermost open segment `hook_id`. Segments
  // inside it were left without an exit (longjmp) and are removed. False: none
  // is open.
  bool Exit(std::uint32_t hook_id) noexcept {
    if (beyond_ != 0) {
      --beyond_;
      return false;
    }
    for (std::uint32_t at = depth_; at > 0; --at) {
      const std::uint16_t entry = entries_[at - 1];
      if (entry >> 1 != hook_id) continue;
      depth_ = at - 1;
      return (entry & 1) != 0;
    }
    return false;
  }

 private:
  std::uint32_t depth_ = 0;
  std::uint32_t beyond_ = 0;  // open segments deeper than kMaxDepth
  std::uint16_t entries_[kMaxDepth] = {};
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_OPEN_SEGMENTS_H_
