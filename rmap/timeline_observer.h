// What reconstruction tells a consumer that wants the timeline, not the totals
// (the viewer's index, `state`, `report --by time`). Calls come in the order in
// which spans end, on the thread that runs the pipeline. Spans that are still
// open when the trace ends come last, dispatches by CPU, then segments by
// thread.
#ifndef COUNTRACE_RMAP_TIMELINE_OBSERVER_H_
#define COUNTRACE_RMAP_TIMELINE_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rmap/tables/tables.h"

namespace countrace::rmap {

// One stay of a thread on a CPU. Idle is thread kNoThread.
struct DispatchSpan {
  std::uint32_t cpu;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint16_t end_state;  // logformat::SwitchState
  // Counts of this stay, one for each kernel dump event; empty if unknown.
  std::span<const std::uint64_t> counts;
  std::uint64_t interrupts_ns;  // of the stay, not the thread's
  // Not observed (loss, edge of the trace, a computed switch).
  bool begin_inferred, end_inferred;
  bool outside;  // scope of a command: somebody else, or idle
};

// A thread was runnable and on no CPU.
struct WaitSpan {
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
};

// A call of a segment begins; its SegmentSpan follows when it ends.
struct SegmentBegin {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t time_ns;
  std::uint32_t depth = 0;  // as SegmentSpan's
};

// One call of a segment.
struct SegmentSpan {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint32_t depth;  // 0 = outermost
  std::uint64_t begin_ns, end_ns;
  std::optional<std::uint64_t> on_cpu_ns;  // inclusive
  bool begin_inferred, end_inferred;
  // Inclusive counts of this call, for who wants them (WantsCallCounts());
  // their sums are the report's. As on_cpu_ns, switches and page faults are of
  // the kernel's records.
  std::uint64_t switches = 0, faults = 0;
  bool on_cpu_exact = false;  // those three
  // Of dumps at its hooks: events of the thread's, then of the CPU's. Absent:
  // this call alone cannot say (no dump, a loss, a turn of event sets).
  std::span<const std::optional<std::uint64_t>> dumps = {};
};

// One call of an interrupt handler, on the CPU it interrupted.
struct InterruptSpan {
  std::uint32_t cpu;
  std::uint32_t hook_id;
  std::uint32_t depth;  // 0 = interrupted no other handler
  std::uint64_t begin_ns, end_ns;
  bool end_inferred;
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

// The accounts of Books; its `own` is among kProcesses.
enum class Account : std::uint8_t {
  kProcesses,
  kIdle,
  kInterrupts,
  kOutside,
  kUnattributed
};
inline constexpr std::size_t kAccounts = 5;

// Time of one CPU as it is charged. The charges of a CPU follow each other
// without a hole from its first dump to its last record.
struct TimeCharge {
  std::uint32_t cpu;
  Account account;
  ThreadIndex thread;  // kProcesses; else kNoThread
  std::uint64_t begin_ns, end_ns;
};

// Counts of one event as they are charged: it happened `count` times in this
// interval, when is not known. The sums of all charges are the report's. Events
// beyond the trace's are the running times of event sets.
struct CountCharge {
  std::uint32_t cpu;
  Account account;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint32_t event;
  std::uint64_t count;  // not 0
};

class TimelineObserver {
 public:
  virtual ~TimelineObserver() = default;
  // Asked once, before the first record.
  virtual bool WantsCallCounts() const { return false; }
  virtual void OnTime(const TimeCharge&) {}
  virtual void OnCounts(const CountCharge&) {}
  virtual void OnDispatch(const DispatchSpan&) {}
  virtual void OnWait(const WaitSpan&) {}
  virtual void OnInterrupt(const InterruptSpan&) {}
  virtual void OnSegmentBegin(const SegmentBegin&) {}
  virtual void OnSegment(const SegmentSpan&) {}
  virtual void OnHook(const HookHit&) {}
  virtual void OnCounters(const CounterDump&) {}
  virtual void OnLoss(const LossSpan&) {}
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TIMELINE_OBSERVER_H_
