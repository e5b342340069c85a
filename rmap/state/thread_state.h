// The state of one thread and of one process while a trace is read.
//
// A state consists of parts. Each part names the one unit that writes it; every
// unit may read all parts. Plain data. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_THREAD_STATE_H_
#define COUNTRACE_RMAP_STATE_THREAD_STATE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rmap/result/tables.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/event_slices.h"
#include "rmap/state/fault_sums.h"
#include "rmap/state/hook_hits.h"
#include "rmap/state/segment_stack.h"
#include "rmap/state/unseen_state.h"

namespace countrace::rmap {

struct ThreadState;

struct BlockRequests {
  std::uint64_t hits = 0, bytes = 0;
};

// Whose a process is, as its latest `owner` record says; of a forked one
// without a record its parent's.
struct ProcessOwner {
  std::optional<std::uint32_t> uid;
  std::uint64_t cgroup = 0;  // 0: not known
  // Its number in its own pid namespace, and the kernel's; 0: not known.
  std::int32_t own_pid = 0, host_pid = 0;
};

struct ProcessState {
  // --- ThreadRegistry --------------------------------------------------------
  ProcessIndex index{};
  std::int32_t pid = 0, parent_pid = 0;
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  bool ended = false;  // all its threads exited
  ProcessOwner owner;
  // The mark in the trace, and by the marks in force: the trace's or the
  // report's.
  bool trace_mark = false, mark = false;
  bool counted = true;  // now
  std::uint64_t live_threads = 0;
  std::vector<ThreadState*> threads;
  PathNode* paths = nullptr;  // root of its call paths
  // Hook records of its threads were lost: from then on, in how many losses,
  // and how many (Bounds::kNone: unknown).
  bool hooks_lost = false;
  std::uint64_t hooks_lost_since_ns = 0, hook_losses = 0;
  std::uint64_t hook_records_lost = 0;
  ProcessState* before = nullptr;  // the earlier one with the same pid

  // UnseenTime: the losses that were known when the process began.
  std::uint32_t records_known = 0;
  bool settled = false;  // no record was lost in its life
  // SegmentBuilder: time in which its threads may have been in other kernel
  // segments than the records show.
  std::uint64_t kernel_unknown_ns = 0;
  // Reconstruction: some of its system calls and faults may not be recorded,
  // and were not counted (FORMAT.md 4.3, reason 6).
  bool calls_left_out = false;

  // SegmentBuilder: the highest number of a stack so far.
  std::uint64_t latest_stack = 0;

  HookHits hits;  // Reconstruction
  // TaskRecords: on-CPU time until an exec that changed the name, by that name;
  // and their sum.
  std::vector<ProgramTime> before_exec;
  std::uint64_t before_exec_ns = 0;

  // KernelHooks: hits by hook id - kHookIdKernelMin.
  std::vector<std::uint64_t> kernel_hook_hits;
  // KernelHooks: hits of block points, by hook id and device.
  std::map<std::pair<std::uint32_t, std::string>, BlockRequests> block_requests;
  // KernelHooks: calls that returned an error, by hook id and errno.
  std::map<std::pair<std::uint32_t, int>, std::uint64_t> failed_calls;
  // CallValues: hits by hook id and value.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> value_hits;
  FaultSums faults;  // TaskRecords, KernelHooks
  // interval_counts: by kernel dump event, if sets are multiplexed.
  EventSlices slices;
};

// Dispatches of a thread; written by DispatchTracker.
struct DispatchState {
  std::int32_t running_cpu = -1, last_cpu = -1;
  // The range of the tables began, and it may have been on another CPU before
  // than the last known one: its first migration may be an older one.
  bool last_cpu_unsure = false;
  bool begin_unsure = false;       // so may its first dispatch
  std::uint64_t switch_in_ns = 0;  // begin of the part not yet in on_cpu_ns
  std::uint64_t first_switch_in_ns = 0;  // of its first dispatch
  std::uint64_t on_cpu_ns = 0;
  // Hook records show that it ran, but the interval was unattributed. In no
  // account, but in the on-CPU clock, which must not go back under open calls.
  std::uint64_t unbooked_ns = 0;
  bool lost_on_cpu = false;  // it had a CPU when that CPU's records were lost
  std::uint64_t serial = 0;  // number of the latest dispatch; 0: none yet
  bool sure = false;         // no loss on its CPU during that dispatch
  std::uint64_t dispatches = 0, migrations = 0, switches_out = 0;
  bool waiting = false;    // runnable, on no CPU, since runnable_since_ns
  bool throttled = false;  // while waiting: by a CPU quota
  std::uint64_t runnable_since_ns = 0, wait_ns = 0, throttled_ns = 0;
  std::int32_t queued_cpu = -1;  // while waiting: the one it left; -1: woken
  bool any_cpu = false;  // as it left its CPU last, it might run on every one
  std::uint64_t faults = 0;  // fault records
  // Times that its switch-in or switch-out is missing without a counted loss.
  std::uint32_t unseen_switches = 0;
  bool switch_inferred = false;  // the time of a switch was computed
  bool interrupted = false;      // on its CPU, but an interrupt runs there
  bool split_by_exec = false;    // its successor has counts of one interval
  bool dead = false;             // its last switch-out was recorded
};

// A thread's time on no CPU; written by BlockedTime.
struct BlockedState {
  // kPerhaps: it left its CPU unseen.
  enum class Sleep : std::uint8_t { kNone, kBlocked, kPerhaps };
  Sleep sleep = Sleep::kNone;
  std::uint64_t since_ns = 0, total_ns = 0;
  // The first record that shows its state; kNever: none did.
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t known_from_ns = kNever;
  bool left_cpu = false;      // seen to leave its CPU, and not to get one since
  PathNode* place = nullptr;  // innermost segment when it left
  bool place_sure = true;     // it was known which system call it was in

  void KnowFrom(std::uint64_t time_ns) {
    known_from_ns = std::min(known_from_ns, time_ns);
  }
};

// Counts from the dumps of CPUs; written by interval_counts.
struct KernelCounts {
  std::vector<std::uint64_t> counts;  // one for each kernel dump event
  EventSlices slices;                 // if event sets are multiplexed
};

// Hook records of a thread; written by SegmentBuilder.
struct HookState {
  std::uint64_t last_ns = 0;  // 0: no hook record
  // The next exit of a kernel hook may have no enter: the system call began in
  // another thread or program (fork, exec), or was closed early.
  bool exit_expected = false;
};

struct ThreadState {
  // --- ThreadRegistry --------------------------------------------------------
  ThreadIndex index{};
  std::int32_t tid = 0;
  ProcessState* process = nullptr;  // null until a record names its pid
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  bool announced = false;    // the session expects it; no record yet
  bool begin_known = false;  // it forked, or existed at the begin of the trace
  bool forked = false;       // its fork record came
  bool exited = false, retired = false;
  bool ended_before = false;  // before the tables begin
  std::uint64_t exit_ns = 0;
  bool hooks_lost = false;  // some of its hook records were lost
  FaultPlace last_fault;    // TaskRecords

  DispatchState dispatch;
  BlockedState blocked;
  KernelCounts kernel;
  UnseenState unseen;  // UnseenTime
  HookState hooks;
  SegmentStack stack;  // SegmentBuilder: of the stack on which it runs
  ThreadStacks stacks;

  // UnseenState::stack_since_ns begins. `on_cpu_ns`: its clock then.
  void DoubtStack(std::uint64_t since_ns, std::uint64_t on_cpu_ns,
                  bool running) {
    unseen.stack_since_ns = since_ns;
    unseen.stack_on_cpu_ns = on_cpu_ns;
    unseen.stack_switches = dispatch.switches_out;
    unseen.stack_faults = dispatch.faults;
    unseen.stack_running = running;
    unseen.stack_wait_ns = unseen.stack_blocked_ns = 0;
  }
  // Its hooks show that it ran, and no kernel record shows when.
  bool IsOnNoCpu() const {
    return dispatch.serial == 0 && dispatch.switches_out == 0 &&
           dispatch.faults == 0 && hooks.last_ns != 0;
  }
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_THREAD_STATE_H_
