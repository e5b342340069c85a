#include "runtime/recorder/kernel/marked_threads.h"

#include <algorithm>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

using logformat::CpuEvent;

void MarkedThreads::Leave(std::int32_t tid) {
  const auto it = members_.find(tid);
  if (it == members_.end()) return;
  unnamed_.erase(tid);
  const std::int32_t pid = it->second;
  const auto others = std::count_if(
      members_.begin(), members_.end(), [pid, tid](const auto& member) {
        return member.second == pid && member.first != tid;
      });
  if (tid == pid && others > 0) {
    dead_leaders_.insert(tid);
    return;
  }
  members_.erase(it);
  if (others == 1 && dead_leaders_.contains(pid)) {
    dead_leaders_.erase(pid);
    members_.erase(pid);
  }
}

void MarkedThreads::Exec(std::int32_t pid) {
  const bool member =
      std::any_of(members_.begin(), members_.end(),
                  [pid](const auto& entry) { return entry.second == pid; });
  if (!member) return;
  // exec leaves one thread, whose tid is the pid from now on.
  absl::erase_if(members_,
                 [pid](const auto& entry) { return entry.second == pid; });
  members_[pid] = pid;
  dead_leaders_.erase(pid);
}

void MarkedThreads::AddThreadOfHook(std::uint64_t ids) {
  // The kernel writes process states of marked processes only: an unknown
  // thread is a member whose fork record was lost.
  const auto tid = static_cast<std::int32_t>(ids & 0xffffff);
  const auto pid = static_cast<std::int32_t>(ids >> 24 & 0xffffff);
  if (Contains(tid)) return;
  Add(pid, tid);
  unnamed_.insert(tid);
}

bool MarkedThreads::ApplySwitch(std::uint64_t packed) {
  const auto prev = static_cast<std::int32_t>(packed & 0xffffff);
  const auto next = static_cast<std::int32_t>((packed >> 24) & 0xffffff);
  const bool prev_member = Contains(prev);
  const bool keep = Counts(prev) || Counts(next);
  if (prev_member && ((packed >> 48) & logformat::kSwitchDead) != 0 &&
      reused_.erase(prev) == 0) {
    exited_.erase(prev);
    Leave(prev);
  }
  return keep;
}

bool MarkedThreads::Apply(const RecordBatch& batch,
                          const KernelRecord& record) {
  if (record.event_id == kLossEntry) {
    // The last switch of any of them may be lost.
    exited_.clear();
    reused_.clear();
    return true;
  }
  if (logformat::IsKernelHookEvent(record.event_id)) {
    if (!counted_.unmarked) AddThreadOfHook(*batch.Words(record));
    return true;
  }
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch:
      return ApplySwitch(*batch.Words(record));
    case CpuEvent::kWakeup:
    case CpuEvent::kSwitchIn: {
      const std::uint64_t packed = *batch.Words(record);
      return Counts(static_cast<std::int32_t>(packed & 0xffffff)) ||
             Counts(static_cast<std::int32_t>(packed >> 24 & 0xffffff));
    }
    case CpuEvent::kFork: {
      const auto task = batch.Body<logformat::TaskRecord>(record);
      if (!Contains(task.parent_tid)) {
        // A reused tid: its earlier thread has ended.
        if (Contains(task.tid)) Leave(task.tid);
        return counted_.unmarked;
      }
      if (exited_.erase(task.tid) != 0) reused_.insert(task.tid);
      Add(task.pid, task.tid);
      return true;
    }
    case CpuEvent::kExec: {
      const auto comm = batch.Body<logformat::CommRecord>(record);
      Exec(comm.pid);
      return counted_.unmarked || Contains(comm.tid);
    }
    case CpuEvent::kComm:
      return counted_.unmarked ||
             Contains(batch.Body<logformat::CommRecord>(record).tid);
    case CpuEvent::kExit: {
      const auto task = batch.Body<logformat::TaskRecord>(record);
      if (!Contains(task.tid)) return counted_.unmarked;
      exited_.insert(task.tid);
      return true;
    }
    case CpuEvent::kFault:
      return Counts(batch.Body<logformat::FaultRecord>(record).tid);
    case CpuEvent::kProcessState: {
      const auto state = batch.Body<logformat::StateRecord>(record);
      if ((state.flags & logformat::kStateMarked) != 0) {
        Add(state.pid, state.tid);
      }
      return true;
    }
    case CpuEvent::kOwner:
      return Counts(batch.Body<logformat::OwnerRecord>(record).pid);
    case CpuEvent::kCounters:
      return true;
  }
  return false;
}

}  // namespace countrace::runtime
