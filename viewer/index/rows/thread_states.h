// What a thread does over time, for the tiles of its row: runs, waits for a
// CPU, is blocked, or what it does is not known. Derived from the thread's
// dispatches and waits; they fill the time in which it lives.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_THREAD_STATES_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_THREAD_STATES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {

enum StateFlags : std::uint32_t {  // beside LeafFlags
  kStateWaiting = 1u << 8,
  kStateBlocked = 1u << 9,
  kStateUnknown = 1u << 10,
  kStateThrottled = 1u << 11,  // waiting, because a CPU quota was used up
};
// A wait has here 1 + rmap::WakerKind of what ended the sleep before it, or 0.
inline constexpr std::uint32_t kWakerShift = kLeafWakerShift;

// One stretch of one state.
struct ThreadStretch {
  TimeRange range;
  // Running: the CPU. Blocked: the innermost call then, or kNoKey. Waiting: the
  // thread that woke it, or kNoKey.
  std::uint32_t key;
  std::uint32_t flags;  // StateFlags, none: running; then LeafFlags, or waker
  std::uint32_t leaf;   // of the row, if it runs
};

// Time in each state.
struct StateTimes {
  std::uint64_t running_ns = 0, waiting_ns = 0, blocked_ns = 0, unknown_ns = 0;
};

// Short-lived; refers to the index. Thread: any.
class ThreadStates {
 public:
  // Requires: rows()[row] is of RowKind::kThreadRun.
  ThreadStates(const TimelineIndex& index, std::uint32_t row,
               const InterruptRows& interrupts);

  const IntervalRow& dispatches() const { return run_.dispatches(); }
  // Exact, whatever the length of the range. O(log n).
  StateTimes In(TimeRange range) const;
  // Those that touch `range`, not cut at its edges; in time order.
  std::vector<ThreadStretch> Stretches(TimeRange range) const;

 private:
  // Where the searches of a walk in time order go on.
  struct Hints {
    std::uint64_t wait = 0, wait_begin = 0, sleep = 0;
    std::vector<std::uint64_t> calls;  // by depth
  };
  // What lies between two dispatches; `blocked`: its time without waits.
  void AddGap(bool blocked, std::uint32_t end_state, TimeRange gap,
              TimeRange range, Hints& hints,
              std::vector<ThreadStretch>& out) const;
  std::uint32_t CallAt(std::uint64_t time_ns, Hints& hints) const;

  const TimelineIndex& index_;
  ThreadRun run_;
  std::optional<IntervalRow> waits_;
  std::vector<std::uint32_t> segments_;  // rows, outermost first
  TimeRange life_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_THREAD_STATES_H_
