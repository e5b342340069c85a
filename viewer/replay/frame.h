// What a replay shows of one instant. Every frame is exact: it is the state at
// its time, and sums over the window before it, asked of the index.
//
// Cost: O(log n) for each row of the index.
#ifndef COUNTRACE_VIEWER_REPLAY_FRAME_H_
#define COUNTRACE_VIEWER_REPLAY_FRAME_H_

#include <cstdint>
#include <set>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/instant/instant_state.h"

namespace countrace::viewer {

// CPU time in the window before a frame.
struct RecentTime {
  std::uint32_t number = 0;  // of the process or thread
  std::uint64_t on_cpu_ns = 0;
};

// Hits of a point hook in the window, and up to the frame.
struct HookHits {
  std::uint32_t hook_id = 0;
  std::uint64_t recent = 0, total = 0;
};

struct Frame {
  // Threads that run, wait for a CPU or are inside a segment, the first 500 of
  // `threads`, and those that the caller names.
  InstantState state;
  // Largest first; none without time there.
  std::vector<RecentTime> processes, threads;
  // By hook, of a trace without counters: samples or points of another tool.
  std::vector<HookHits> hooks;
};

Frame FrameAt(const TimelineIndex& index, std::uint64_t time_ns,
              std::uint64_t window_ns, std::set<std::uint32_t> also = {});

// No CPU has a thread of the trace.
bool IsIdle(const InstantState& state);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_FRAME_H_
