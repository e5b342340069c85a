// Which threads belong to the recorded command: its first process and all
// descendants, however short they live.
//
// In: kernel records of all CPUs, merged by time. Out: keep or drop. Fork
// records make members; a thread's last switch-out ends its membership, not its
// exit record, which comes before it. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_COMMAND_SCOPE_H_
#define COUNTRACE_RUNTIME_RECORDER_COMMAND_SCOPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/recorder/kernel_record.h"

namespace countrace::runtime {

class CommandScope {
 public:
  void Add(std::int32_t pid, std::int32_t tid) { members_[tid] = pid; }
  bool Contains(std::int32_t tid) const { return members_.contains(tid); }
  // True once for a member that no fork record told of, but its own.
  bool TakeUnnamed(std::int32_t tid) { return unnamed_.erase(tid) != 0; }
  std::size_t size() const { return members_.size(); }

  // Updates the members from one record; call in time order. Returns true if
  // the record belongs to the command: a dispatch if the thread switched out or
  // in does, a fork if the forking thread does.
  bool Apply(const RecordBatch& batch, const KernelRecord& record);

 private:
  void Leave(std::int32_t tid);
  void Exec(std::int32_t pid);

  absl::flat_hash_map<std::int32_t, std::int32_t> members_;  // tid -> pid
  // First threads that ended while others of their process live on. They stay
  // members: exec in another thread takes over this tid.
  absl::flat_hash_set<std::int32_t> dead_leaders_;
  absl::flat_hash_set<std::int32_t> unnamed_;
  // A tid is free from when its thread is waited for, which is a few
  // instructions before the thread leaves its CPU.
  absl::flat_hash_set<std::int32_t> exited_;  // not switched out yet
  absl::flat_hash_set<std::int32_t> reused_;  // of these: somebody else's now
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_COMMAND_SCOPE_H_
