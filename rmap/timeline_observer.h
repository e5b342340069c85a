// What reconstruction tells a consumer that wants the timeline, not the totals
// (the viewer's index, `state`). Calls come in the order in which spans end, on
// the thread that runs the pipeline. Spans that are still open when the trace
// ends come last, dispatches by CPU, then segments by thread.
#ifndef COUNTRACE_RMAP_TIMELINE_OBSERVER_H_
#define COUNTRACE_RMAP_TIMELINE_OBSERVER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rmap/tables.h"

namespace countrace::rmap {

// One stay of a thread on a CPU. Idle is thread kNoThread.
struct DispatchSpan {
  std::uint32_t cpu;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint16_t end_state;  // logformat::SwitchState
  // Counts of this stay, one for each kernel dump event; empty if unknown.
  std::span<const std::uint64_t> counts;
  bool inferred;  // begin or end was not observed (loss, edge of the trace)
  bool outside;   // scope of a command: somebody else, or idle
};

// One call of a segment.
struct SegmentSpan {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint32_t depth;  // 0 = outermost
  std::uint64_t begin_ns, end_ns;
  std::optional<std::uint64_t> on_cpu_ns;  // inclusive
  bool begin_inferred, end_inferred;
};

struct HookHit {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t time_ns;
};

// Cumulative values of one CPU's counters at an instant.
struct CounterDump {
  std::uint32_t cpu;
  std::uint64_t time_ns;
  std::span<const std::uint64_t> values;
  std::uint32_t present;
};

// Records lost between two instants: on one CPU (cpu >= 0) or of one thread.
struct LossSpan {
  std::int32_t cpu;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint64_t count;  // 0: unknown
  std::string_view cause;
};

class TimelineObserver {
 public:
  virtual ~TimelineObserver() = default;
  virtual void OnDispatch(const DispatchSpan&) {}
  virtual void OnSegment(const SegmentSpan&) {}
  virtual void OnHook(const HookHit&) {}
  virtual void OnCounters(const CounterDump&) {}
  virtual void OnLoss(const LossSpan&) {}
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TIMELINE_OBSERVER_H_
