// The machine at one instant: who runs on each CPU, which segments are open,
// what was counted so far. O(log n) for each row.
#ifndef COUNTRACE_VIEWER_INDEX_INSTANT_STATE_H_
#define COUNTRACE_VIEWER_INDEX_INSTANT_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/timeline_index.h"

namespace countrace::viewer {

struct CpuState {
  std::uint32_t cpu = 0;
  bool known = false;
  std::uint32_t thread = kNoKey;  // kNoKey: idle or outside, see flags
  std::uint32_t flags = 0;        // LeafFlags
  std::uint64_t begin_ns = 0, end_ns = 0;
};

struct OpenSegment {
  std::uint32_t row;
  std::uint32_t hook_id;
  std::uint32_t depth;
  std::uint32_t flags;  // LeafFlags
  std::uint64_t begin_ns, end_ns;
};

struct ThreadState {
  std::uint32_t thread = kNoKey;
  std::optional<std::uint32_t> cpu;  // where it runs
  std::vector<OpenSegment> open;     // outermost first
};

struct EventState {
  double count = 0;            // over all CPUs since the trace began
  bool estimated = false;      // between two dumps of some CPU
  bool gap = false;            // some CPU does not know
  std::vector<double> by_cpu;  // in the order of the CPUs with counters
};

struct InstantState {
  std::uint64_t time_ns = 0;
  std::vector<CpuState> cpus;
  std::vector<ThreadState> threads;  // with open segments
  std::uint64_t threads_left_out = 0;
  std::vector<EventState> events;
  bool in_loss = false;
};

inline constexpr std::size_t kMaxStateThreads = 1000;

InstantState StateAt(const TimelineIndex& index, std::uint64_t time_ns);

// --- Steps -------------------------------------------------------------------

enum StepKinds : std::uint32_t {
  kStepDispatch = 1u << 0,  // a dispatch begins or ends on a CPU
  kStepSegment = 1u << 1,   // a segment begins or ends
  kStepHook = 1u << 2,      // a point hook
};

struct Step {
  std::uint64_t time_ns;
  std::uint32_t row;
  std::uint64_t leaf;
  bool at_end;  // the leaf ends there
};

// The nearest boundary strictly after (`forward`) or before `time_ns`, of the
// kinds asked for, in `row` only if given. Nothing beyond the last one.
std::optional<Step> NearestStep(const TimelineIndex& index,
                                std::uint64_t time_ns, bool forward,
                                std::uint32_t kinds,
                                std::optional<std::uint32_t> row);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_INSTANT_STATE_H_
