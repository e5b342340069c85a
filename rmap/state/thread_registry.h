// Threads and processes of a trace, by an index that is never reused, while the
// kernel reuses tid and pid.
//
//   (none) --(fork, process_state, first record)--> live
//   live --(exit record)--> exited: still on a CPU, still found by tid
//   exited --(last switch-out)--> retired: its tid means no thread
//   live, exited --(fork with the same tid: its exit was lost)--> retired
//
// In: identities from kernel and hook records. Out: ThreadState, ProcessState,
// at stable addresses. Memory: one state for each thread that ever lived.
// Thread: one.
#ifndef COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_
#define COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/gate.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

// A thread as a record names it. pid < 0: not in the record.
struct ThreadIdentity {
  std::int32_t pid = -1;
  std::int32_t tid = 0;
};

class ThreadRegistry {
 public:
  // `observer`: null, or gets each new thread.
  ThreadRegistry(CallPaths& paths, std::size_t cpu_events, Gate gate,
                 TimelineObserver* observer = nullptr)
      : paths_(paths),
        cpu_events_(cpu_events),
        gate_(std::move(gate)),
        observer_(observer) {
    interrupts_.index = ProcessIndex{0xffffffffu};
    interrupts_.comm = "[interrupts]";
    interrupts_.paths = paths.NewRoot();
  }
  ThreadRegistry(const ThreadRegistry&) = delete;
  ThreadRegistry& operator=(const ThreadRegistry&) = delete;

  // The thread that has this tid now; null if none is known.
  ThreadState* Find(std::int32_t tid) const;
  // The process that has this pid now; null if none is known.
  ProcessState* FindProcess(std::int32_t pid) const;
  // The thread that has this identity at `time_ns`; created if it is new. Adds
  // the pid to a thread that was known by tid only.
  ThreadState& Observe(ThreadIdentity identity, std::uint64_t time_ns);
  // The same for a record that says the thread existed before. `parent_pid`: 0
  // if the record has none.
  ThreadState& ObserveExisting(ThreadIdentity identity, std::int32_t parent_pid,
                               std::uint64_t time_ns);
  // Like Observe(), but creates no thread. Returns null if no thread has this
  // tid, or if it exited long ago.
  ThreadState* ObserveKnown(std::int32_t tid, std::uint64_t time_ns);
  // Stores that `thread` had a record; its stream or CPU names the thread.
  static void See(ThreadState& thread, std::uint64_t time_ns) {
    thread.last_seen_ns = std::max(thread.last_seen_ns, time_ns);
  }
  // Expects a thread before its first record (first process of a command).
  void Announce(ThreadIdentity identity, std::uint64_t time_ns);

  ThreadState& Fork(ThreadIdentity child, ThreadIdentity parent,
                    std::uint64_t time_ns);
  void Exit(ThreadState& thread, std::uint64_t time_ns);
  void Retire(ThreadState& thread);
  void Rename(ThreadState& thread, std::string_view comm, bool exec);
  // Sets the name that the process itself recorded; the kernel's name takes
  // precedence.
  void NameProcess(std::int32_t pid, const std::string& comm);
  // An `owner` record. No effect if no living process has its pid.
  void SetOwner(std::int32_t pid, const ProcessOwner& owner);
  // A record says that `process` is marked from now on.
  void MarkInTrace(ProcessState& process);

  const Gate& gate() const { return gate_; }
  // False: it belongs to the account `outside`.
  bool Counts(const ThreadState& thread) const {
    if (thread.process != nullptr) return thread.process->counted;
    return gate_.Counts(gate_.implies_mark(true), false);
  }
  // Like Observe(), for a process that is known only from its own hooks.
  ThreadState& ObserveByHooks(ThreadIdentity identity, std::uint64_t time_ns);
  bool any_mark() const { return any_mark_; }

  // The tables begin: threads that have ended are in no table.
  void BeginTables(std::uint64_t time_ns);

  // The tables' range begins: drops the sums of processes as well.
  void BeginRange(std::uint64_t time_ns);

  // Kernel records were lost: from now on a fork or exit may be missing.
  void NoteLoss() { loss_ = true; }
  // Marks chosen now spread by forks and names. Some of those are lost: a
  // process that does not count may descend from one that does.
  bool may_lack_marks() const { return loss_ && gate_.has_own_marks(); }
  // `records` (Bounds::kNone: unknown) of hooks of a thread of `pid` were lost
  // between the two instants. This concerns each process that had the pid then,
  // including those not seen yet. Returns false if none is known.
  bool LoseHooks(std::int32_t pid, std::uint64_t begin_ns, std::uint64_t end_ns,
                 std::uint64_t records);
  // Records of hooks of any process were lost after `begin_ns`.
  void LoseAllHooks(std::uint64_t begin_ns);
  // Assigns every thread without a known pid to a process with its own tid.
  void SettleProcesses();

  std::deque<ThreadState>& threads() { return threads_; }
  std::deque<ProcessState>& processes() { return processes_; }
  const std::deque<ThreadState>& threads() const { return threads_; }
  const std::deque<ProcessState>& processes() const { return processes_; }
  // A stand-in process that owns the segments of interrupts.
  ProcessState& interrupts() { return interrupts_; }

  // An exited thread is on a CPU only until its last switch-out. If that record
  // was lost, a record of its tid this much later belongs to another thread.
  static constexpr std::uint64_t kExitGraceNs = 1'000'000'000;
  // A child's first dispatch can lie before its fork record, by the clock error
  // between CPUs.
  static constexpr std::uint64_t kForkSkewNs = 100'000;

 private:
  ThreadState& NewThread(std::int32_t tid, std::uint64_t time_ns);
  ProcessState& ProcessOf(std::int32_t pid, std::uint64_t time_ns);
  // `forked`: it begins now.
  ProcessState& NewProcess(std::int32_t pid, std::uint64_t time_ns,
                           bool forked = false);
  void Join(ThreadState& thread, ProcessState& process);
  void SetMark(ProcessState& process);
  struct LostHooks {
    std::uint64_t since_ns = 0, until_ns = 0, times = 0, records = 0;
  };
  static void LoseHooksOf(ProcessState& process, const LostHooks& lost);
  void Regate(ProcessState& process);

  CallPaths& paths_;
  std::size_t cpu_events_;
  Gate gate_;
  TimelineObserver* const observer_;
  bool from_kernel_ = true;  // the current record comes from the kernel
  bool any_mark_ = false;
  bool loss_ = false;
  std::deque<ThreadState> threads_;
  std::deque<ProcessState> processes_;
  ProcessState interrupts_;
  absl::flat_hash_map<std::int32_t, ThreadState*> by_tid_;
  absl::flat_hash_map<std::int32_t, ProcessState*> by_pid_;
  // By pid: the losses of hook records so far.
  absl::flat_hash_map<std::int32_t, LostHooks> hooks_lost_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_THREAD_REGISTRY_H_
