// The marked threads, and the ones whose records are kept. In the recording of
// a command: its first process and all descendants, even very short ones. Also,
// and in other recordings, the processes that --mark names.
//
// In: kernel records of all CPUs, merged by time. Out: keep or drop. Fork
// records pass the mark on, process_state records set it. A thread's last
// switch-out ends it; its exit record comes before that. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_MARKED_THREADS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_MARKED_THREADS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "logformat/rules/gating.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"

namespace countrace::runtime {

class MarkedThreads {
 public:
  // `counted`: the processes whose records are kept; the rest of it is not
  // used.
  explicit MarkedThreads(const logformat::Gating& counted)
      : counted_(counted) {}

  void Add(std::int32_t pid, std::int32_t tid) { members_[tid] = pid; }
  bool Contains(std::int32_t tid) const { return members_.contains(tid); }
  bool Counts(std::int32_t tid) const {
    return counted_.CountsProcess(Contains(tid));
  }
  // True once for a member that is known only from its own record, not from a
  // fork.
  bool TakeUnnamed(std::int32_t tid) { return unnamed_.erase(tid) != 0; }
  std::size_t size() const { return members_.size(); }

  // Updates the members from one record; call in time order. Returns true if
  // the record is kept: a dispatch if the thread switched out or in is counted,
  // a fork if the forking thread is. Where unmarked processes are counted,
  // records that change marks are kept as well.
  bool Apply(const RecordBatch& batch, const KernelRecord& record);

 private:
  void Leave(std::int32_t tid);
  void Exec(std::int32_t pid);
  void AddThreadOfHook(std::uint64_t ids);
  bool ApplySwitch(std::uint64_t packed);

  logformat::Gating counted_;
  absl::flat_hash_map<std::int32_t, std::int32_t> members_;  // tid -> pid
  // First threads that ended before others of their process. They stay members:
  // exec in another thread takes over this tid.
  absl::flat_hash_set<std::int32_t> dead_leaders_;
  absl::flat_hash_set<std::int32_t> unnamed_;
  // A tid is free after the wait for its thread, a few instructions before the
  // thread leaves its CPU.
  absl::flat_hash_set<std::int32_t> exited_;  // not switched out yet
  absl::flat_hash_set<std::int32_t>
      reused_;  // the part that a new thread uses now
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_MARKED_THREADS_H_
