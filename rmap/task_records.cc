#include "rmap/task_records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::CpuEvent;

namespace {

// A comm has up to 16 bytes, NUL-padded; a damaged one may use all 16.
std::string_view CommOf(const char (&comm)[16]) {
  return {comm, strnlen(comm, sizeof(comm))};
}

// The name of `process` becomes `next`: keeps the on-CPU time that it had under
// the one of now.
void EndProgram(ProcessState& process, std::string_view next,
                std::uint64_t time_ns) {
  if (process.comm == next) return;
  std::uint64_t all_ns = 0;
  for (const ThreadState* thread : process.threads) {
    const DispatchState& dispatch = thread->dispatch;
    all_ns += dispatch.on_cpu_ns;
    if (dispatch.running_cpu >= 0 && !dispatch.interrupted) {
      all_ns += time_ns - std::min(time_ns, dispatch.switch_in_ns);
    }
  }
  if (all_ns <= process.before_exec_ns) return;
  AddProgramTime(
      {process.comm, all_ns - std::exchange(process.before_exec_ns, all_ns)},
      process.before_exec);
}

}  // namespace

bool TaskRecords::OnRecord(const logformat::EventRecord& record,
                           std::uint64_t time_ns) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kFork: {
      logformat::TaskRecord fork;
      if (!Decode(record, fork)) return false;
      OnFork(fork, time_ns);
      return true;
    }
    case CpuEvent::kExit: {
      logformat::TaskRecord exit;
      if (!Decode(record, exit)) return false;
      OnExit(exit, time_ns);
      return true;
    }
    case CpuEvent::kExec: {
      logformat::CommRecord exec;
      if (!Decode(record, exec)) return false;
      OnExec(exec, record.cpu, time_ns);
      return true;
    }
    case CpuEvent::kComm: {
      logformat::CommRecord comm;
      if (!Decode(record, comm)) return false;
      Rename(registry_.Observe({comm.pid, comm.tid}, time_ns),
             CommOf(comm.comm), /*exec=*/false);
      return true;
    }
    case CpuEvent::kFault: {
      logformat::FaultRecord fault;
      if (!Decode(record, fault)) return false;
      OnFault(fault, record.cpu, time_ns);
      return true;
    }
    case CpuEvent::kProcessState: {
      logformat::StateRecord state;
      if (!Decode(record, state) || state.pid < 0) return false;
      OnState(state, time_ns);
      return true;
    }
    case CpuEvent::kOwner: {
      logformat::OwnerRecord owner;
      if (!Decode(record, owner)) return false;
      OnOwner(owner);
      return true;
    }
    default:
      return false;
  }
}

void TaskRecords::Rename(ThreadState& thread, std::string_view comm,
                         bool exec) {
  const bool counted = registry_.Counts(thread);
  registry_.Rename(thread, comm, exec);
  if (counted != registry_.Counts(thread)) dispatches_.Regate(*thread.process);
}

void TaskRecords::OnState(const logformat::StateRecord& state,
                          std::uint64_t time_ns) {
  // The recorder may have no parent for a process that was just marked.
  ThreadState& thread = registry_.ObserveExisting({state.pid, state.tid},
                                                  state.parent_pid, time_ns);
  Rename(thread, CommOf(state.comm), /*exec=*/false);
  ProcessState& process = *thread.process;
  if ((state.flags & logformat::kStateMarked) != 0) {
    registry_.MarkInTrace(process);
  }
  // It may have been running since before this record names its process.
  dispatches_.Regate(process);
}

void TaskRecords::OnOwner(const logformat::OwnerRecord& record) {
  ProcessOwner owner = {.uid = record.uid,
                        .cgroup = record.cgroup,
                        .own_pid = record.own_pid,
                        .host_pid = record.host_pid};
  if (record.uid == logformat::kNoUser) owner.uid.reset();
  registry_.SetOwner(record.pid, owner);
}

void TaskRecords::OnFork(const logformat::TaskRecord& fork,
                         std::uint64_t time_ns) {
  // A thread that still has this tid exited without a record.
  ThreadState& child = registry_.Fork(
      {fork.pid, fork.tid}, {fork.parent_pid, fork.parent_tid}, time_ns);
  // The child returns from its parent's system call.
  SegmentBuilder::ExpectExit(child);
  dispatches_.OnFork(child, time_ns);
  // The child's first dispatch may come before this record, and it inherits a
  // mark. The next record of its CPU shows whether it counts: the thread
  // outside that is there may have left unseen, and the tid may be the child's
  // now.
  if (!registry_.Counts(child)) dispatches_.Regate(*child.process);
}

void TaskRecords::OnExit(const logformat::TaskRecord& exit,
                         std::uint64_t time_ns) {
  ThreadState& thread = registry_.Observe({exit.pid, exit.tid}, time_ns);
  dispatches_.SeeRunning(thread, time_ns);
  segments_.EndKernelDoubt(thread, time_ns);
  segments_.CloseAll(thread, time_ns, /*ended=*/true);
  registry_.Exit(thread, time_ns);
  if (thread.process != nullptr && thread.process->ended)
    dispatches_.OnEnd(*thread.process);
}

void TaskRecords::OnExec(const logformat::CommRecord& exec, std::int32_t cpu,
                         std::uint64_t time_ns) {
  ThreadState& thread = registry_.Observe({exec.pid, exec.tid}, time_ns);
  // exec ends the old program and all its open segments.
  if (thread.process != nullptr) {
    for (ThreadState* sibling : thread.process->threads) {
      dispatches_.SeeRunning(*sibling, time_ns);
      segments_.EndKernelDoubt(*sibling, time_ns);
      segments_.CloseAll(*sibling, time_ns, /*ended=*/true);
    }
  }
  SegmentBuilder::ExpectExit(thread);  // execve returns into the new program
  ThreadState* running = dispatches_.Running(cpu);
  if (running != nullptr && running != &thread &&
      running->process == thread.process) {
    // A thread other than the main one called exec: from here on it has the
    // main one's tid, and its own tid ends without an exit record.
    dispatches_.TransferRunning(cpu, thread, time_ns);
    registry_.Retire(*running);
  } else if (ThreadState* const outside =
                 dispatches_.TransferOutside(cpu, thread);
             outside != nullptr) {
    registry_.Retire(*outside);
  }
  if (thread.process != nullptr) {
    EndProgram(*thread.process, CommOf(exec.comm), time_ns);
  }
  Rename(thread, CommOf(exec.comm), /*exec=*/true);
}

void TaskRecords::OnFault(const logformat::FaultRecord& fault, std::int32_t cpu,
                          std::uint64_t time_ns) {
  any_fault_ = true;
  ThreadState* thread = dispatches_.Running(cpu);
  if (thread == nullptr || thread->tid != fault.tid ||
      thread->process == nullptr) {
    thread = &registry_.Observe({fault.pid, fault.tid}, time_ns);
  }
  dispatches_.OnFault(cpu, *thread, time_ns);
  if (thread->process == nullptr || !registry_.Counts(*thread)) return;
  if (dispatches_.coverage().paused) return;
  const std::uint32_t open = thread->stack.TopHook();
  thread->last_fault = thread->process->faults.Add(
      hooks_.IsFault(open) ? open : 0, fault.address);
}

}  // namespace countrace::rmap
