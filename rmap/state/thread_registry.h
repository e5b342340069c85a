// Threads and processes of a trace, by an index that is never reused, while the
// kernel reuses tid and pid.
//
//   (none) --(fork, process_state, first record)--> live
//   live --(exit record)--> exited: still on a CPU, still found by tid
//   exited --(last switch-out)--> retired: its tid means nobody
//   live, exited --(fork with the same tid: its exit was lost)--> retired
//
// In: identities from kernel and hook records. Out: ThreadState, ProcessState,
// whose addresses stay. Memory: one state for each thread that ever lived.
// Thread: one.
#ifndef COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_
#define COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/gate.h"
#include "rmap/state/hook_hits.h"
#include "rmap/state/scaled_count.h"
#include "rmap/state/segment_stack.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

struct ThreadState;

struct ProcessState {
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
  PathNode* paths = nullptr;  // root of its call paths
  HookHits hits;
  // Of hooks dumped by the kernel: by hook id - kHookIdKernelMin.
  std::vector<std::uint64_t> kernel_hook_hits;
  bool hooks_lost = false;         // records of one of its threads were lost
  ProcessState* before = nullptr;  // which had the same pid
  std::vector<SliceSums> slices;   // by kernel dump event, if sets take turns
};

struct ThreadState {
  ThreadIndex index{};
  std::int32_t tid = 0;
  ProcessState* process = nullptr;  // null until a record tells its pid
  std::string comm;
  std::uint64_t first_seen_ns = 0, last_seen_ns = 0;
  bool announced = false;    // expected by the session, no record of it yet
  bool begin_known = false;  // by its fork, or it was there at the beginning
  bool exited = false, retired = false;
  std::uint64_t exit_ns = 0;

  // Dispatches (DispatchTracker).
  std::int32_t running_cpu = -1, last_cpu = -1;
  std::uint64_t switch_in_ns = 0;        // of the part not yet in on_cpu_ns
  std::uint64_t first_switch_in_ns = 0;  // of its first stay
  std::uint64_t on_cpu_ns = 0;
  // Hook records show that it ran, but the interval was unattributed: in no
  // account, yet in the on-CPU clock, which must not go back under open calls.
  std::uint64_t unbooked_ns = 0;
  std::uint64_t stay = 0;  // serial number of the latest stay, 0: none yet
  bool stay_sure = false;  // nothing was lost on its CPU during that stay
  std::uint64_t dispatches = 0, migrations = 0, switches_out = 0;
  bool waiting = false;  // runnable, on no CPU, since runnable_since_ns
  std::uint64_t runnable_since_ns = 0, wait_ns = 0;
  // On no CPU: blocked (BlockedTime), or, if it left unseen, perhaps.
  enum class Sleep : std::uint8_t { kNone, kBlocked, kPerhaps };
  Sleep sleep = Sleep::kNone;
  bool sleep_sure = false;             // nothing was being lost when it left
  std::uint32_t sleep_loss_epoch = 0;  // when it left
  std::uint64_t sleep_since_ns = 0, blocked_ns = 0;
  bool left_cpu = false;  // it was seen to leave its CPU, not to get one since
  PathNode* off_cpu_in = nullptr;  // innermost segment then
  std::uint64_t faults = 0;
  std::vector<std::uint64_t> counts;  // one for each kernel dump event
  std::vector<SliceSums> slices;      // of each, if event sets take turns
  std::uint32_t born_at_loss_epoch = 0, retired_at_loss_epoch = 0;
  // Times its switch-in or switch-out is missing though no loss was counted.
  std::uint32_t unseen_switches = 0;
  bool lost_edge = false;  // born or retired while some CPU's records were lost
  bool switch_inferred = false;  // the time of a switch was computed
  bool shares_counts = false;    // of some intervals, unattributed, with others
  bool interrupted = false;      // on its CPU, but an interrupt has that
  bool split_by_exec = false;    // counts of one interval are in its successor

  std::uint64_t last_hook_ns = 0;  // 0: no hook record
  // The next exit of a kernel hook may have no enter: a system call that began
  // in another thread or program (fork, exec), or was closed before its time.
  bool exit_expected = false;
  bool hooks_lost = false;  // some of its hook records were lost

  SegmentStack stack;  // SegmentBuilder
};

// A thread as a record names it. pid < 0: the record does not say.
struct ThreadIdentity {
  std::int32_t pid = -1;
  std::int32_t tid = 0;
};

class ThreadRegistry {
 public:
  ThreadRegistry(CallPaths& paths, std::size_t cpu_events, Gate gate)
      : paths_(paths), cpu_events_(cpu_events), gate_(std::move(gate)) {
    interrupts_.index = ProcessIndex{0xffffffffu};
    interrupts_.comm = "[interrupts]";
    interrupts_.paths = paths.NewRoot();
  }
  ThreadRegistry(const ThreadRegistry&) = delete;
  ThreadRegistry& operator=(const ThreadRegistry&) = delete;

  // Thread that has this tid now; null if none is known.
  ThreadState* Find(std::int32_t tid) const;
  // Process that has this pid now; null if none is known.
  ProcessState* FindProcess(std::int32_t pid) const;
  // Thread that has this identity at `time_ns`, made if it is new. Learns the
  // pid of a thread so far known by tid only.
  ThreadState& Observe(ThreadIdentity identity, std::uint64_t time_ns);
  // Expects a thread before its first record (first process of a command).
  void Announce(ThreadIdentity identity, std::uint64_t time_ns);

  ThreadState& Fork(ThreadIdentity child, ThreadIdentity parent,
                    std::uint64_t time_ns);
  void Exit(ThreadState& thread, std::uint64_t time_ns);
  void Retire(ThreadState& thread);
  void Rename(ThreadState& thread, std::string_view comm, bool exec);
  // A record says that it is marked from now on.
  void MarkInTrace(ProcessState& process);

  const Gate& gate() const { return gate_; }
  // False: it belongs to the account `outside`.
  bool Counts(const ThreadState& thread) const {
    if (thread.process != nullptr) return thread.process->counted;
    return gate_.Counts(gate_.implies_mark(true), false);
  }
  // What of a process not seen before only its own hooks tell.
  ThreadState& ObserveByHooks(ThreadIdentity identity, std::uint64_t time_ns);
  bool any_mark() const { return any_mark_; }

  // Losses before a thread is made, or after it is retired, do not concern it.
  // `lossy`: some CPU has lost records since its last dump.
  void SetLoss(std::uint32_t epoch, bool lossy) {
    loss_epoch_ = epoch;
    lossy_ = lossy;
  }
  // Hook records of a thread of `pid` were lost, some time between the two
  // instants: concerns each process that had the pid then, also those to come.
  // False if none is known.
  bool LoseHooks(std::int32_t pid, std::uint64_t begin_ns,
                 std::uint64_t end_ns);
  // Gives every thread whose pid no record told a process of its own tid.
  void SettleProcesses();

  std::deque<ThreadState>& threads() { return threads_; }
  std::deque<ProcessState>& processes() { return processes_; }
  // Stands for no process: whose work the segments of interrupts are.
  ProcessState& interrupts() { return interrupts_; }

  // An exited thread is on a CPU only until its last switch-out. If that was
  // lost, a record of its tid so much later means somebody else.
  static constexpr std::uint64_t kExitGraceNs = 1'000'000'000;
  // The first dispatch of a child can lie before its fork record by clock error
  // between CPUs.
  static constexpr std::uint64_t kForkSkewNs = 100'000;

 private:
  ThreadState& NewThread(std::int32_t tid, std::uint64_t time_ns);
  ProcessState& ProcessOf(std::int32_t pid, std::uint64_t time_ns);
  ProcessState& NewProcess(std::int32_t pid, std::uint64_t time_ns);
  void Join(ThreadState& thread, ProcessState& process);
  void SetMark(ProcessState& process);
  void Regate(ProcessState& process);

  CallPaths& paths_;
  std::size_t cpu_events_;
  Gate gate_;
  bool from_kernel_ = true;  // what is observed now is told by the kernel
  bool any_mark_ = false;
  std::uint32_t loss_epoch_ = 0;
  bool lossy_ = false;
  std::deque<ThreadState> threads_;
  std::deque<ProcessState> processes_;
  ProcessState interrupts_;
  absl::flat_hash_map<std::int32_t, ThreadState*> by_tid_;
  absl::flat_hash_map<std::int32_t, ProcessState*> by_pid_;
  // By pid: the end of the latest loss of hook records.
  absl::flat_hash_map<std::int32_t, std::uint64_t> hooks_lost_until_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_
