#include "rmap/state/thread_registry.h"

#include <algorithm>
#include <utility>

namespace countrace::rmap {

ThreadState* ThreadRegistry::Find(std::int32_t tid) const {
  const auto found = by_tid_.find(tid);
  return found == by_tid_.end() ? nullptr : found->second;
}

ProcessState* ThreadRegistry::FindProcess(std::int32_t pid) const {
  const auto found = by_pid_.find(pid);
  return found == by_pid_.end() ? nullptr : found->second;
}

ThreadState& ThreadRegistry::NewThread(std::int32_t tid,
                                       std::uint64_t time_ns) {
  ThreadState*& slot = by_tid_[tid];
  if (slot != nullptr) Retire(*slot);
  ThreadState& thread = threads_.emplace_back();
  thread.index = static_cast<ThreadIndex>(threads_.size() - 1);
  thread.tid = tid;
  thread.first_seen_ns = thread.last_seen_ns = time_ns;
  thread.kernel.counts.resize(cpu_events_, 0);
  by_tid_[tid] = &thread;
  if (observer_ != nullptr) observer_->OnThread(thread.index, tid);
  return thread;
}

ProcessState& ThreadRegistry::NewProcess(std::int32_t pid,
                                         std::uint64_t time_ns, bool forked) {
  ProcessState& process = processes_.emplace_back();
  process.index = static_cast<ProcessIndex>(processes_.size() - 1);
  process.pid = pid;
  process.first_seen_ns = process.last_seen_ns = time_ns;
  process.paths = paths_.NewRoot();
  process.trace_mark = gate_.implies_mark(from_kernel_);
  process.mark =
      gate_.has_own_marks() ? gate_.TakePid(pid) : process.trace_mark;
  Regate(process);
  process.before = std::exchange(by_pid_[pid], &process);
  const auto lost = hooks_lost_.find(pid);
  if (lost != hooks_lost_.end() &&
      (!forked || time_ns <= lost->second.until_ns)) {
    LoseHooksOf(process, lost->second);
  }
  return process;
}

void ThreadRegistry::Regate(ProcessState& process) {
  process.counted = gate_.Counts(process.trace_mark, process.mark);
  any_mark_ |= process.mark;
}

void ThreadRegistry::SetMark(ProcessState& process) {
  process.mark = true;
  Regate(process);
}

void ThreadRegistry::MarkInTrace(ProcessState& process) {
  process.trace_mark = true;
  process.mark |= !gate_.has_own_marks();
  Regate(process);
}

ThreadState& ThreadRegistry::ObserveByHooks(ThreadIdentity identity,
                                            std::uint64_t time_ns) {
  from_kernel_ = false;
  ThreadState& thread = Observe(identity, time_ns);
  from_kernel_ = true;
  return thread;
}

void ThreadRegistry::LoseHooksOf(ProcessState& process, const LostHooks& lost) {
  if (!process.hooks_lost) {
    process.hooks_lost = true;
    process.hooks_lost_since_ns = lost.since_ns;
    CallPaths::KeepCertain(*process.paths);
  }
  process.hook_losses += lost.times;
  process.hook_records_lost =
      AddBounded(process.hook_records_lost, lost.records);
}

bool ThreadRegistry::LoseHooks(std::int32_t pid, std::uint64_t begin_ns,
                               std::uint64_t end_ns, std::uint64_t records) {
  LostHooks& lost = hooks_lost_[pid];
  if (lost.times++ == 0) lost.since_ns = begin_ns;
  lost.until_ns = std::max(lost.until_ns, end_ns);
  lost.records = AddBounded(lost.records, records);
  ProcessState* const latest = FindProcess(pid);
  // A process ends where the next one with its pid begins, exit seen or not.
  for (ProcessState* process = latest; process != nullptr;
       process = process->before) {
    LoseHooksOf(*process, {begin_ns, end_ns, 1, records});
    if (process->first_seen_ns <= begin_ns) break;
  }
  return latest != nullptr;
}

ProcessState& ThreadRegistry::ProcessOf(std::int32_t pid,
                                        std::uint64_t time_ns) {
  const auto found = by_pid_.find(pid);
  if (found != by_pid_.end() && !found->second->ended) return *found->second;
  ProcessState* const before = found != by_pid_.end() ? found->second : nullptr;
  ProcessState& process = NewProcess(pid, time_ns);
  // After a loss, perhaps only the known threads of the earlier process ended;
  // this thread may still belong to it.
  if (before != nullptr && loss_) {
    LoseHooksOf(*before, {time_ns, time_ns, 1, Bounds::kNone});
    LoseHooksOf(process, {time_ns, time_ns, 1, Bounds::kNone});
  }
  return process;
}

void ThreadRegistry::Join(ThreadState& thread, ProcessState& process) {
  thread.process = &process;
  process.threads.push_back(&thread);
  if (thread.hooks_lost) {
    LoseHooksOf(process, {thread.first_seen_ns, 0, 1, Bounds::kNone});
  }
  ++process.live_threads;
  if (process.comm.empty()) process.comm = thread.comm;
  if (thread.comm.empty()) thread.comm = process.comm;
}

ThreadState& ThreadRegistry::Observe(ThreadIdentity identity,
                                     std::uint64_t time_ns) {
  ThreadState* thread = Find(identity.tid);
  const bool somebody_else =
      thread != nullptr &&
      ((thread->exited && time_ns > thread->exit_ns + kExitGraceNs) ||
       (identity.pid >= 0 && thread->process != nullptr &&
        thread->process->pid != identity.pid));
  if (thread == nullptr || somebody_else) {
    thread = &NewThread(identity.tid, time_ns);
  }
  if (identity.pid >= 0 && thread->process == nullptr) {
    Join(*thread, ProcessOf(identity.pid, time_ns));
  }
  thread->announced = false;
  thread->last_seen_ns = time_ns;
  return *thread;
}

ThreadState& ThreadRegistry::ObserveExisting(ThreadIdentity identity,
                                             std::int32_t parent_pid,
                                             std::uint64_t time_ns) {
  ThreadState& thread = Observe(identity, time_ns);
  thread.begin_known = true;
  ProcessState& process = *thread.process;
  if (parent_pid != 0 || process.parent_pid == 0) {
    process.parent_pid = parent_pid;
  }
  return thread;
}

ThreadState* ThreadRegistry::ObserveKnown(std::int32_t tid,
                                          std::uint64_t time_ns) {
  ThreadState* thread = Find(tid);
  if (thread == nullptr) return nullptr;
  if (thread->exited && time_ns > thread->exit_ns + kExitGraceNs) {
    Retire(*thread);
    return nullptr;
  }
  thread->announced = false;
  thread->last_seen_ns = time_ns;
  return thread;
}

void ThreadRegistry::BeginTables(std::uint64_t time_ns) {
  for (ThreadState& thread : threads_) {
    thread.ended_before = thread.retired;
    thread.first_seen_ns = std::max(thread.first_seen_ns, time_ns);
    thread.last_seen_ns = std::max(thread.last_seen_ns, time_ns);
  }
  for (ProcessState& process : processes_) {
    process.first_seen_ns = std::max(process.first_seen_ns, time_ns);
    process.last_seen_ns = std::max(process.last_seen_ns, time_ns);
  }
}

void ThreadRegistry::BeginRange(std::uint64_t time_ns) {
  BeginTables(time_ns);
  const auto forget = [time_ns](ProcessState& process) {
    process.hits = HookHits();
    process.kernel_hook_hits.clear();
    process.block_requests.clear();
    process.faults.Clear();
    process.failed_calls.clear();
    process.value_hits.clear();
    process.slices.clear();
    process.before_exec.clear();
    process.before_exec_ns = 0;
    process.kernel_unknown_ns = 0;
    process.calls_left_out = false;
    process.hooks_lost_since_ns =
        std::max(process.hooks_lost_since_ns, time_ns);
  };
  for (ProcessState& process : processes_) forget(process);
  forget(interrupts_);
}

void ThreadRegistry::NameProcess(std::int32_t pid, const std::string& comm) {
  ProcessState* process = FindProcess(pid);
  if (process != nullptr && process->comm.empty()) process->comm = comm;
}

void ThreadRegistry::SetOwner(std::int32_t pid, const ProcessOwner& owner) {
  ProcessState* const process = FindProcess(pid);
  if (process != nullptr && !process->ended) process->owner = owner;
}

void ThreadRegistry::LoseAllHooks(std::uint64_t begin_ns) {
  for (ProcessState& process : processes_) {
    LoseHooksOf(process, {begin_ns, begin_ns, 1, Bounds::kNone});
  }
}

void ThreadRegistry::Announce(ThreadIdentity identity, std::uint64_t time_ns) {
  Observe(identity, time_ns).announced = true;
}

ThreadState& ThreadRegistry::Fork(ThreadIdentity child, ThreadIdentity parent,
                                  std::uint64_t time_ns) {
  const ThreadState* parent_thread = Find(parent.tid);
  ThreadState* thread = Find(child.tid);
  // The recorder reads the threads of a process that becomes marked from /proc,
  // later than the record that marks it: it may name a thread before its fork.
  const bool named_early = thread != nullptr && child.tid != child.pid &&
                           thread->begin_known && !thread->forked &&
                           thread->dispatch.serial == 0 &&
                           thread->hooks.last_ns == 0;
  const bool seen_early =
      thread != nullptr && !thread->exited &&
      (named_early || (!thread->begin_known &&
                       (thread->announced ||
                        thread->first_seen_ns + kForkSkewNs > time_ns))) &&
      (thread->process == nullptr || thread->process->pid == child.pid);
  if (named_early && seen_early) thread->first_seen_ns = time_ns;
  if (!seen_early) {
    thread = &NewThread(child.tid, time_ns);
    // A new thread group: the earlier process with this pid has exited, even if
    // its exit was not seen.
    if (child.tid == child.pid) NewProcess(child.pid, time_ns, true);
  }
  if (thread->process == nullptr) {
    Join(*thread, ProcessOf(child.pid, time_ns));
  }
  thread->announced = false;
  thread->begin_known = thread->forked = true;
  thread->last_seen_ns = time_ns;
  if (parent_thread != nullptr) thread->comm = parent_thread->comm;
  if (child.tid == child.pid) {
    ProcessState& process = *thread->process;
    process.parent_pid = parent.pid;
    process.comm = thread->comm;
    if (parent_thread != nullptr && parent_thread->process != nullptr) {
      process.owner = {.uid = parent_thread->process->owner.uid,
                       .cgroup = parent_thread->process->owner.cgroup};
      process.trace_mark |= parent_thread->process->trace_mark;
      process.mark |= parent_thread->process->mark;
    }
    Regate(process);
  }
  return *thread;
}

void ThreadRegistry::Exit(ThreadState& thread, std::uint64_t time_ns) {
  if (thread.exited) return;
  thread.exited = true;
  thread.exit_ns = time_ns;
  if (thread.process != nullptr && !thread.retired &&
      --thread.process->live_threads == 0) {
    thread.process->ended = true;
  }
}

void ThreadRegistry::Retire(ThreadState& thread) {
  if (thread.retired) return;
  if (thread.process != nullptr && !thread.exited) {
    --thread.process->live_threads;
  }
  thread.retired = true;
  const auto found = by_tid_.find(thread.tid);
  if (found != by_tid_.end() && found->second == &thread) by_tid_.erase(found);
}

void ThreadRegistry::Rename(ThreadState& thread, std::string_view comm,
                            bool exec) {
  thread.comm = comm;
  // A process is called after its main thread, as in ps.
  if (thread.process != nullptr &&
      (exec || thread.tid == thread.process->pid)) {
    thread.process->comm = comm;
    if (gate_.MatchesComm(comm)) SetMark(*thread.process);
  }
}

void ThreadRegistry::SettleProcesses() {
  for (ThreadState& thread : threads_) {
    if (thread.process != nullptr) continue;
    const auto found = by_pid_.find(thread.tid);
    Join(thread, found != by_pid_.end()
                     ? *found->second
                     : NewProcess(thread.tid, thread.first_seen_ns));
  }
  for (ProcessState& process : processes_) {
    for (const ThreadState* thread : process.threads) {
      process.first_seen_ns =
          std::min(process.first_seen_ns, thread->first_seen_ns);
      process.last_seen_ns =
          std::max(process.last_seen_ns, thread->last_seen_ns);
    }
  }
}

}  // namespace countrace::rmap
