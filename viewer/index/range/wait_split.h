// Why a thread does not run at an instant: who ended its sleep, who took its
// CPU, and who had the CPU that it waited for.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_WAIT_SPLIT_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_WAIT_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {

struct CpuHolder {
  std::uint32_t thread;
  std::uint64_t ns;  // interrupts included
};

struct WaitSplit {
  ThreadStretch stretch;  // waits for a CPU, or is blocked
  // What ended its sleep. Absent: it was preempted, or that is not known.
  std::optional<rmap::WakerKind> waker_kind;
  std::uint32_t waker = kNoKey;         // WakerKind::kThread
  std::uint32_t preempted_by = kNoKey;  // had the CPU when the wait began
  // A wait has the CPU that the thread waited for (WaitedFor), and its time
  // until then. The sum of all but `interrupts_ns` is the length of the wait.
  std::optional<std::uint32_t> cpu;
  std::vector<CpuHolder> holders;  // heaviest first, at most kMaxHolders
  std::uint64_t others_ns = 0;     // of further threads
  std::uint64_t idle_ns = 0, outside_ns = 0, unknown_ns = 0;
  std::uint64_t throttled_ns = 0;   // all of it, or nothing
  std::uint64_t interrupts_ns = 0;  // a part of the others
};

inline constexpr std::size_t kMaxHolders = 8;
// Dispatches of a wait that are looked at; what comes after is in `others_ns`
// or idle.
inline constexpr std::uint64_t kMaxSplitLeaves = 1 << 16;

// The CPU that a thread waited for, as in the report's preemptors: the one that
// it left for others, or where it ran when its wait was over; absent: that is
// not known. `dispatches` are the thread's; where it runs after `until_ns` is
// not known. `hint`: a dispatch at or before the wait, where the search starts.
std::optional<std::uint32_t> WaitedFor(const IntervalRow& dispatches,
                                       TimeRange wait,
                                       std::uint64_t until_ns = kUnknownTime,
                                       std::uint64_t hint = 0);

// Absent: the thread runs at `time_ns`, does not live, or what it does is not
// known.
std::optional<WaitSplit> SplitWait(const TimelineIndex& index,
                                   std::uint32_t thread, std::uint64_t time_ns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_WAIT_SPLIT_H_
