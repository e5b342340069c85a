// Kernel records about tasks: fork, exec, exit, comm, process state, fault.
//
// In: such records, in time order. Out: calls to ThreadRegistry,
// DispatchTracker and SegmentBuilder. Thread: one.
#ifndef COUNTRACE_RMAP_TASK_RECORDS_H_
#define COUNTRACE_RMAP_TASK_RECORDS_H_

#include <cstdint>
#include <string_view>

#include "logformat/records.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/segments/kernel_hooks.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class TaskRecords {
 public:
  TaskRecords(ThreadRegistry& registry, DispatchTracker& dispatches,
              SegmentBuilder& segments, const HookTable& hooks)
      : registry_(registry),
        dispatches_(dispatches),
        segments_(segments),
        hooks_(hooks) {}

  // Returns: false if `record` is shorter than its layout, or of an unknown
  // event, or names no process where it must.
  bool OnRecord(const logformat::EventRecord& record, std::uint64_t time_ns);

  bool any_fault() const { return any_fault_; }

 private:
  void OnFork(const logformat::TaskRecord& fork, std::uint64_t time_ns);
  void OnExit(const logformat::TaskRecord& exit, std::uint64_t time_ns);
  void OnExec(const logformat::CommRecord& exec, std::int32_t cpu,
              std::uint64_t time_ns);
  void OnState(const logformat::StateRecord& state, std::uint64_t time_ns);
  void OnOwner(const logformat::OwnerRecord& record);
  void OnFault(const logformat::FaultRecord& fault, std::int32_t cpu,
               std::uint64_t time_ns);
  void Rename(ThreadState& thread, std::string_view comm, bool exec);

  ThreadRegistry& registry_;
  DispatchTracker& dispatches_;
  SegmentBuilder& segments_;
  const HookTable& hooks_;
  bool any_fault_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TASK_RECORDS_H_
