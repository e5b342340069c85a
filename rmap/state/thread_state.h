// What is known of one thread and of one process while a trace is read.
//
// A state is made of parts, and each part is written by one unit, which stands
// beside it; every unit may read all of them. Plain data. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_THREAD_STATE_H_
#define COUNTRACE_RMAP_STATE_THREAD_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/state/call_paths.h"
#include "rmap/state/hook_hits.h"
#include "rmap/state/scaled_count.h"
#include "rmap/state/segment_stack.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

struct ThreadState;

struct ProcessState {
  // --- ThreadRegistry --------------------------------------------------------
  ProcessIndex index{};
  std::int32_t pid = 0, parent_pid = 0;
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  bool ended = false;  // all its threads exited
  // In the trace, and by the marks in force: those, or the report's own.
  bool trace_mark = false, mark = false;
  bool counted = true;  // now
  std::uint64_t live_threads = 0;
  std::vector<ThreadState*> threads;
  PathNode* paths = nullptr;       // root of its call paths
  bool hooks_lost = false;         // records of one of its threads were lost
  ProcessState* before = nullptr;  // which had the same pid

  HookHits hits;  // Reconstruction
  // KernelHooks: hits by hook id - kHookIdKernelMin.
  std::vector<std::uint64_t> kernel_hook_hits;
  // interval_counts: by kernel dump event, if sets take turns.
  std::vector<SliceSums> slices;
};

// Its dispatches, written by DispatchTracker.
struct DispatchState {
  std::int32_t running_cpu = -1, last_cpu = -1;
  std::uint64_t switch_in_ns = 0;        // of the part not yet in on_cpu_ns
  std::uint64_t first_switch_in_ns = 0;  // of its first dispatch
  std::uint64_t on_cpu_ns = 0;
  // Hook records show that it ran, but the interval was unattributed: in no
  // account, yet in the on-CPU clock, which must not go back under open calls.
  std::uint64_t unbooked_ns = 0;
  std::uint64_t serial = 0;  // of the latest dispatch, 0: none yet
  bool sure = false;         // nothing was lost on its CPU during that dispatch
  std::uint64_t dispatches = 0, migrations = 0, switches_out = 0;
  bool waiting = false;  // runnable, on no CPU, since runnable_since_ns
  std::uint64_t runnable_since_ns = 0, wait_ns = 0;
  std::uint64_t faults = 0;  // fault records
  // Times its switch-in or switch-out is missing though no loss was counted.
  std::uint32_t unseen_switches = 0;
  bool switch_inferred = false;  // the time of a switch was computed
  bool interrupted = false;      // on its CPU, but an interrupt has that
  bool split_by_exec = false;    // counts of one interval are in its successor
};

// Its time on no CPU, written by BlockedTime.
struct BlockedState {
  // Blocked, or, if it left unseen, perhaps.
  enum class Sleep : std::uint8_t { kNone, kBlocked, kPerhaps };
  Sleep sleep = Sleep::kNone;
  bool sure = false;             // nothing was being lost when it left
  std::uint32_t loss_epoch = 0;  // when it left
  std::uint64_t since_ns = 0, total_ns = 0;
  bool left_cpu = false;  // it was seen to leave its CPU, not to get one since
  PathNode* place = nullptr;  // innermost segment then
};

// What the dumps of CPUs gave it, written by interval_counts.
struct KernelCounts {
  std::vector<std::uint64_t> counts;  // one for each kernel dump event
  std::vector<SliceSums> slices;      // of each, if event sets take turns
  bool shared = false;  // those of some intervals, unattributed, with others
};

// Its hook records, written by SegmentBuilder.
struct HookState {
  std::uint64_t last_ns = 0;  // 0: no hook record
  // The next exit of a kernel hook may have no enter: a system call that began
  // in another thread or program (fork, exec), or was closed before its time.
  bool exit_expected = false;
};

struct ThreadState {
  // --- ThreadRegistry --------------------------------------------------------
  ThreadIndex index{};
  std::int32_t tid = 0;
  ProcessState* process = nullptr;  // null until a record names its pid
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  bool announced = false;    // expected by the session, no record of it yet
  bool begin_known = false;  // by its fork, or it was there at the beginning
  bool exited = false, retired = false;
  std::uint64_t exit_ns = 0;
  std::uint32_t born_at_loss_epoch = 0, retired_at_loss_epoch = 0;
  bool lost_edge = false;  // born or retired while some CPU's records were lost
  bool hooks_lost = false;  // some of its hook records were lost

  DispatchState dispatch;
  BlockedState blocked;
  KernelCounts kernel;
  HookState hooks;
  SegmentStack stack;  // SegmentBuilder
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_THREAD_STATE_H_
