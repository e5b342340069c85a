// Reconstruction's output for a timeline, besides the totals (the viewer's
// index, `state`, `report --by time`). Calls come in the order in which spans
// end, on the thread that runs the pipeline. Spans that are still open when the
// trace ends come last, dispatches by CPU, then segments by thread.
#ifndef COUNTRACE_RMAP_RESULT_TIMELINE_OBSERVER_H_
#define COUNTRACE_RMAP_RESULT_TIMELINE_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "logformat/records.h"
#include "rmap/counters/measure_set.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// One dispatch. Idle is thread kNoThread.
struct DispatchSpan {
  std::uint32_t cpu;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint16_t end_state;  // logformat::SwitchState
  // Counts of this dispatch, one for each kernel dump event; empty if unknown.
  std::span<const std::uint64_t> counts;
  std::uint64_t interrupts_ns;  // part of the dispatch that is not the thread's
  // Not observed (loss, edge of the trace, a computed switch).
  bool begin_inferred, end_inferred;
  bool outside;  // not counted: a process outside the command, or idle
};

// The time of a switch from or to this thread was computed, not recorded; or,
// at an exec, one dispatch is of two threads (`split`), and so are its counts.
struct InferredSwitch {
  ThreadIndex thread;
  std::uint64_t time_ns;
  bool split;
};

// A thread was runnable and on no CPU.
struct WaitSpan {
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
};

// A thread was blocked: on no CPU, and not runnable. The spans of a thread add
// up to its blocked time.
struct BlockedSpan {
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  WakerKind kind;            // what ended it
  ThreadIndex waker;         // kThread; else kNoThread
  std::uint32_t waker_hook;  // the waker's innermost open call; 0: none
};

// A call of a segment begins; its SegmentSpan follows when it ends.
struct SegmentBegin {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t time_ns;
  std::uint32_t depth = 0;     // as in SegmentSpan
  bool goes_on = false;        // the thread came back to the call's stack
  bool cut = false;            // it began before what is shown (RangeObserver)
  std::uint64_t began_ns = 0;  // if it goes on: when the whole call began
};

// One call of a segment, or a part of it: one for each time that the thread was
// on the call's stack.
struct SegmentSpan {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint32_t depth;  // 0 = outermost
  std::uint64_t begin_ns, end_ns;
  std::optional<std::uint64_t> on_cpu_ns;  // inclusive
  bool begin_inferred, end_inferred;
  // Inclusive counts of this call, filled if WantsCallCounts(); their sums are
  // the report's. on_cpu_ns, switches and faults come from kernel records.
  std::uint64_t switches = 0, faults = 0;
  bool on_cpu_exact = false;  // applies to on_cpu_ns, switches and faults
  // From dumps at its hooks: the thread's events, then the CPU's. Absent: the
  // call has no value (no dump, a loss, a rotation of event sets).
  std::span<const std::optional<std::uint64_t>> dumps = {};
  bool is_left = false;  // not the call's end, which may be in a later part
};

// One call of an interrupt handler, on the CPU it interrupted.
struct InterruptSpan {
  std::uint32_t cpu;
  std::uint32_t hook_id;
  std::uint32_t depth;  // 0 = it interrupted no other handler
  std::uint64_t begin_ns, end_ns;
  bool end_inferred;
};

struct HookHit {
  ThreadIndex thread;
  std::uint32_t hook_id;
  std::uint64_t time_ns;
  // Null for an observer that takes runs of threads.
  const logformat::EventRecord* record = nullptr;
};

// A level was up, or it is not known whether it was (`known` false). Those of
// one level and owner come in time order and do not overlap; between them it
// was down.
struct LevelSpan {
  std::uint32_t hook_id;
  logformat::LevelScope scope;
  std::uint32_t owner;  // ThreadIndex or ProcessIndex; 0: the machine
  ThreadIndex by;       // raised it; kNoThread: not known
  std::uint64_t begin_ns, end_ns;
  bool known;
  bool end_inferred;  // up until then at least
};

// A page fault that has a record.
struct FaultHit {
  std::uint32_t cpu;
  ThreadIndex thread;  // kNoThread: it is not counted
  std::uint64_t time_ns;
};

// Cumulative values of one CPU's counters at one time.
struct CounterDump {
  std::uint32_t cpu;
  std::uint64_t time_ns;
  std::span<const std::uint64_t> values;
  MeasureSet present;
  // No dump: the CPU is cut, and these counters went on by other records.
  bool of_cut = false;
};

// Records lost between two instants: on one CPU (cpu >= 0) or of one thread.
struct LossSpan {
  std::int32_t cpu;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint64_t count;  // 0: unknown
  std::string_view cause;
};

// The accounts of Books; `own` is part of kProcesses.
enum class Account : std::uint8_t {
  kProcesses,
  kIdle,
  kInterrupts,
  kOutside,
  kUnattributed
};
inline constexpr std::size_t kAccounts = 5;

// Time of one CPU, as it is attributed. The intervals of a CPU follow each
// other without a gap from its first dump to its last record.
struct AttributedTime {
  std::uint32_t cpu;
  Account account;
  ThreadIndex thread;  // kProcesses; else kNoThread
  std::uint64_t begin_ns, end_ns;
};

// Counts of one event, as they are attributed: it happened `count` times in
// this interval, at unknown times. All counts add up to the report's. Events
// beyond the trace's are the running times of event sets.
struct AttributedCount {
  std::uint32_t cpu;
  Account account;
  ThreadIndex thread;
  std::uint64_t begin_ns, end_ns;
  std::uint32_t event;
  std::uint64_t count;  // not 0
};

// What threads may have besides what is attributed to them: it is
// unattributed, or in another account, or in none. It happened in this
// interval, which can begin before that of its AttributedCount.
struct UnseenCount {
  std::uint64_t begin_ns, end_ns;
  std::optional<std::uint32_t> event;  // none: dispatches
  std::uint64_t count;                 // at most
};

class TimelineObserver {
 public:
  virtual ~TimelineObserver() = default;
  // These two are called before the first record.
  virtual bool WantsCallCounts() const { return false; }
  // True: between two records of the kernel, spans of one thread may come
  // before earlier ones of another, which is cheaper to read. A reading that is
  // stopped has then read some threads further than others.
  virtual bool TakesThreadRuns() const { return false; }
  // Before anything else of this thread.
  virtual void OnThread(ThreadIndex, std::int32_t /*tid*/) {}
  virtual void OnTime(const AttributedTime&) {}
  virtual void OnCounts(const AttributedCount&) {}
  virtual void OnUnseen(const UnseenCount&) {}
  // Forks may be among lost records, or a thread has no known process: what one
  // process or account has from `since_ns` on may be another's.
  virtual void OnOwnersUnknown(std::uint64_t /*since_ns*/) {}
  virtual void OnDispatch(const DispatchSpan&) {}
  virtual void OnInferredSwitch(const InferredSwitch&) {}
  virtual void OnWait(const WaitSpan&) {}
  virtual void OnBlocked(const BlockedSpan&) {}
  virtual void OnInterrupt(const InterruptSpan&) {}
  virtual void OnSegmentBegin(const SegmentBegin&) {}
  virtual void OnSegment(const SegmentSpan&) {}
  virtual void OnHook(const HookHit&) {}
  virtual void OnLevel(const LevelSpan&) {}
  // Its count follows, with the next dump of its CPU.
  virtual void OnFault(const FaultHit&) {}
  virtual void OnCounters(const CounterDump&) {}
  virtual void OnLoss(const LossSpan&) {}
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_TIMELINE_OBSERVER_H_
