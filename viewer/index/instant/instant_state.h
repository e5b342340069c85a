// The machine at one instant: the thread on each CPU, the state of each thread
// and its open segments with their duration, and the counts so far.
//
// An instant is the state after all records at that time: spans are half-open.
// Before the first record nothing is known. After the last record nothing runs,
// and the counts are the trace's. Cost: O(log n) for each row of the index.
#ifndef COUNTRACE_VIEWER_INDEX_INSTANT_INSTANT_STATE_H_
#define COUNTRACE_VIEWER_INDEX_INSTANT_INSTANT_STATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

// Holds the truth; hi kUnknownTime: no upper limit.
struct Limits {
  std::uint64_t lo = 0, hi = 0;
};

struct OpenSegment {
  std::uint32_t row;
  std::uint32_t hook_id;
  std::uint32_t depth;
  std::uint32_t flags;  // LeafFlags
  std::uint64_t begin_ns, end_ns;
  // Inclusive, from its begin to the instant. Absent: the kernel's records or
  // its begin are missing.
  std::optional<std::uint64_t> on_cpu_ns;
};

struct CpuState {
  std::uint32_t cpu = 0;
  bool known = false;
  std::uint32_t thread = kNoKey;  // kNoKey: idle or outside, see flags
  std::uint32_t flags = 0;        // LeafFlags
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t dispatches = 0;  // that have begun, with those of idle
  // In interrupts: whether one runs now; handlers, outermost first; time so
  // far.
  bool in_interrupt = false;
  std::vector<OpenSegment> interrupts;
  std::uint64_t interrupts_ns = 0;
};

enum class RunState : std::uint8_t {
  kUnknown,    // not in the trace yet, records lost, or no kernel records
  kRunning,    // on `cpu`
  kWaiting,    // runnable, on no CPU
  kThrottled,  // the same, because a CPU quota was used up
  kBlocked,    // left its CPU and is not runnable; `end_state` has the reason
  kOffCpu,     // left its CPU for an unknown reason
  kEnded,
};
const char* RunStateName(RunState state);  // "running", ...

// Counts of one event in a thread so far.
struct ThreadCount {
  std::uint64_t count = 0;
  bool estimated = false;  // in the middle of a dispatch: spread evenly over it
};

struct ThreadState {
  std::uint32_t thread = kNoKey;
  RunState state = RunState::kUnknown;
  std::optional<std::uint32_t> cpu;       // where it runs, or last ran
  std::optional<std::uint64_t> since_ns;  // in this state
  bool since_inferred = false;
  std::uint16_t end_state = 0;  // logformat::SwitchState of the last dispatch
  // So far, as in the report's columns. Absent: it has no kernel records.
  std::optional<std::uint64_t> on_cpu_ns, wait_ns;
  std::uint64_t dispatches = 0;
  std::uint64_t recent_ns = 0;  // on a CPU in StateOptions::window_ns
  bool bounded = false;  // records are missing: none of the numbers is sure
  std::vector<ThreadCount> counts;  // one for each event; empty: not counted
  bool counts_incomplete = false;   // a dispatch has no counts: too low
  std::vector<OpenSegment> open;    // outermost first
};

struct EventState {
  double count = 0;        // over all CPUs since the trace began
  bool estimated = false;  // between two dumps of a CPU
  bool gap = false;        // a CPU's count is unknown: at least `count`
  Limits limits;
  std::vector<double> by_cpu;  // in the order of the CPUs with counters
  // Events per second in the window that ends at the instant. Absent: the
  // window is empty, or a CPU's count is unknown.
  std::optional<double> rate;
  bool rate_estimated = false;  // an end of the window is between two dumps
};

enum class StateThreads : std::uint8_t {
  kActive,  // threads that run, wait for a CPU or are inside a segment
  kAll      // all seen so far that have not ended
};

inline constexpr std::size_t kMaxStateThreads = 1000;

struct StateOptions {
  StateThreads threads = StateThreads::kActive;
  std::set<std::uint32_t> also = {};  // threads, whatever they do
  std::uint64_t window_ns = 0;        // of rates and recent times; 0: none
  // If there are more threads, those of the first ranks stay: they run, wait
  // for a CPU, had most CPU time in the window, in the report's order. Those of
  // which it is not known what they do are last.
  std::size_t most = kMaxStateThreads;
  bool ranked = false;  // the threads are in the order of their ranks
};

struct InstantState {
  std::uint64_t time_ns = 0;
  std::uint64_t window_begin_ns = 0;  // of rates
  std::vector<CpuState> cpus;
  std::vector<std::uint32_t> counter_cpus;  // those of EventState::by_cpu
  std::vector<ThreadState> threads;         // in the report's order, or ranked
  std::uint64_t threads_left_out = 0;       // above StateOptions::most
  std::uint64_t threads_not_shown = 0;  // alive, but not of the requested kind
  std::vector<EventState> events;
  bool in_loss = false;
  std::vector<std::uint32_t> losses;  // of losses(), those at the instant
};

InstantState StateAt(const TimelineIndex& index, std::uint64_t time_ns,
                     const StateOptions& options = {});

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_INSTANT_INSTANT_STATE_H_
