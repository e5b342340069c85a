// What a thread may have done while no record shows where it was: plain state
// that UnseenTime (rmap/dispatch/unseen_time.h) works on.
#ifndef COUNTRACE_RMAP_STATE_UNSEEN_STATE_H_
#define COUNTRACE_RMAP_STATE_UNSEEN_STATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rmap/result/limits.h"

namespace countrace::rmap {

struct UnseenState {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  // The last instant at which records show where the thread is, and the clocks
  // of UnseenTime then. While it is on a known CPU they stand still.
  std::uint64_t known_ns = 0;
  std::uint64_t lost_at_ns = 0, hidden_at_ns = 0, outside_at_ns = 0;
  std::uint32_t losses_begun = 0, counts_known = 0;
  bool in_loss = false;      // a CPU's records were being lost then
  bool left_unseen = false;  // it left its CPU after that: it waits, or blocks

  // Time in which it may have run: while records were lost, in intervals that
  // the kernel did not show, and as a thread whose fork was lost.
  std::uint64_t lost_ns = 0, hidden_ns = 0, outside_ns = 0;
  // Time in which it may have waited or blocked otherwise than the records
  // show.
  std::uint64_t unknown_ns = 0;
  // Unknown time in a loss that was noticed after later records of the thread:
  // any part of its numbers may be of that time.
  std::uint64_t late_ns = 0;
  std::uint64_t latest_ns = 0;  // of unknown_ns: added by the latest record
  // Counts that it may have besides, by event, then dispatches; empty: none.
  std::vector<std::uint64_t> counts;

  // Which system call or fault it was in is unknown since then, and its clocks
  // at that time. kNever: known.
  std::uint64_t stack_since_ns = kNever;
  std::uint64_t stack_on_cpu_ns = 0, stack_switches = 0, stack_faults = 0;
  bool stack_running = false;  // it was on a CPU when the records were lost
  // Its waiting and blocked time since then in the innermost call of that time:
  // outside of that call, if it ended there.
  std::uint64_t stack_wait_ns = 0, stack_blocked_ns = 0;

  bool any() const {
    return lost_ns + hidden_ns + outside_ns + unknown_ns + late_ns != 0 ||
           !counts.empty();
  }
  void AddCount(std::size_t event, std::uint64_t count) {
    if (count == 0) return;
    counts.resize(std::max(counts.size(), event + 1), 0);
    counts[event] = AddBounded(counts[event], count);
  }
  // The part of `ns` since `begin_ns` in which it is known in which system call
  // the thread was.
  std::uint64_t PlacedNs(std::uint64_t begin_ns, std::uint64_t ns) const {
    if (stack_since_ns == kNever) return ns;
    return std::min(ns, stack_since_ns - std::min(stack_since_ns, begin_ns));
  }
  std::uint64_t Count(std::size_t event) const {
    return event < counts.size() ? counts[event] : 0;
  }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_UNSEEN_STATE_H_
