// Records of hooks that the kernel dumps: the kernel's work for a thread
// (system calls, faults), probes in user code, and interrupts.
//
// In: such records, in time order. Out: calls to SegmentBuilder, counts and
// time to DispatchTracker, points to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_SEGMENTS_KERNEL_HOOKS_H_
#define COUNTRACE_RMAP_SEGMENTS_KERNEL_HOOKS_H_

#include <cstdint>
#include <vector>

#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/segments/segment_builder.h"
#include "rmap/state/thread_registry.h"
#include "rmap/values/call_values.h"

namespace countrace::rmap {

// Kinds and origins of a trace's hooks, by hook id.
class HookTable {
 public:
  explicit HookTable(const logformat::TraceInfo& info);

  // A hook without a description is a segment of a program.
  logformat::HookKind kind(std::uint32_t hook_id) const {
    return kinds_[hook_id];
  }
  const std::vector<logformat::HookKind>& kinds() const { return kinds_; }
  const std::vector<logformat::HookOrigin>& origins() const { return origins_; }
  bool has_kernel_hooks() const { return has_kernel_hooks_; }
  // Number of events in the kernel's dumps at its hooks; 0 if there are none.
  std::size_t kernel_events() const { return kernel_events_; }
  bool IsSystemCall(std::uint32_t hook_id) const {
    return Is(hook_id, kSystemCall);
  }
  // True if calls of a program's functions are in the streams of CPUs.
  bool has_probes() const { return has_probes_; }
  // A call that returns a second time, with 0, in the thread that it made.
  bool MakesThread(std::uint32_t hook_id) const {
    return Is(hook_id, kMakesThread);
  }
  bool IsFault(std::uint32_t hook_id) const { return Is(hook_id, kFault); }
  bool IsCall(std::uint32_t hook_id) const {
    return (roles_[hook_id] & (kSystemCall | kFault)) != 0;
  }
  // A point of which the cost was measured.
  bool IsCostlyPoint(std::uint32_t hook_id) const {
    return Is(hook_id, kCostlyPoint);
  }
  // A point of requests to block devices: its values are sector, bytes, device.
  bool IsBlockPoint(std::uint32_t hook_id) const {
    return Is(hook_id, kBlockPoint);
  }
  bool IsSample(std::uint32_t hook_id) const { return Is(hook_id, kSample); }
  // A sample of a thread off CPU: it has come back, or the recording ends.
  bool IsOffCpu(std::uint32_t hook_id) const { return Is(hook_id, kOffCpu); }
  // What samples consist of: it happened in no thread.
  bool DefinesSamples(std::uint32_t hook_id) const {
    return Is(hook_id, kDefinesSamples);
  }
  // The size of a dump in a CPU's record.
  std::size_t dump_bytes() const { return dump_bytes_; }
  const JumpHooks& jumps() const { return jumps_; }
  // The kernel's hook of its faults on user memory, or kNoHook.
  std::uint32_t kernel_fault() const { return kernel_fault_; }

 private:
  enum Role : std::uint8_t {
    kSystemCall = 1,
    kMakesThread = 2,
    kFault = 4,
    kCostlyPoint = 8,
    kBlockPoint = 16,
    kSample = 32,
    kDefinesSamples = 64,
    kOffCpu = 128
  };
  bool Is(std::uint32_t hook_id, Role role) const {
    return (roles_[hook_id] & role) != 0;
  }

  std::vector<logformat::HookKind> kinds_;
  std::vector<logformat::HookOrigin> origins_;
  std::vector<std::uint8_t> roles_;  // bits of Role
  JumpHooks jumps_;
  std::uint32_t kernel_fault_ = SegmentBuilder::kNoHook;
  bool has_kernel_hooks_ = false, has_probes_ = false;
  std::size_t kernel_events_ = 0, dump_bytes_ = 0;
};

class KernelHooks {
 public:
  KernelHooks(const HookTable& hooks, ThreadRegistry& registry,
              DispatchTracker& dispatches, SegmentBuilder& segments,
              TimelineObserver* observer, SampleSums* samples,
              CallValues* values)
      : hooks_(hooks),
        registry_(registry),
        dispatches_(dispatches),
        segments_(segments),
        observer_(observer),
        samples_(samples),
        values_(values) {}

  // Requires: `hook` is the head of `record`.
  void OnRecord(const logformat::EventRecord& record,
                const logformat::KernelHookRecord& hook, std::uint64_t time_ns);
  // Some of the records of system calls and faults are there, or all.
  void SetCallsLeftOut(bool left_out) { calls_left_out_ = left_out; }
  // Ends the open segments of the interrupts of `cpu` with its records, at a
  // loss or at the end. `own`: the recording ends, and the innermost segment is
  // the recorder's own.
  void EndInterrupts(std::int32_t cpu, std::uint64_t time_ns, bool own);
  // The same at a switch, which shows that their exits are missing.
  void LeaveInterrupts(std::int32_t cpu, std::uint64_t time_ns);

 private:
  void OnInterrupt(const logformat::EventRecord& record, std::uint32_t hook_id,
                   std::uint64_t time_ns);
  // A hook in the thread's code, or in the kernel's work for it, with `value`.
  void OnThreadHook(ThreadState& thread, const logformat::EventRecord& record,
                    std::uint32_t hook_id, std::uint32_t value,
                    std::uint64_t time_ns);
  // Stores what a record says about values, and counts it by its own. Returns:
  // that of its call or point.
  std::uint32_t TakeValue(const ThreadState& thread,
                          const logformat::EventRecord& record,
                          std::uint32_t hook_id) const;
  // The exit of a system call that replaced the thread's registers.
  void OnUnnamedExit(ThreadState& thread, const logformat::EventRecord& record,
                     std::uint64_t time_ns);
  // Counts the exit of a system call that returned an error.
  void CountFailure(ThreadState& thread, const logformat::EventRecord& record,
                    std::uint32_t hook_id) const;
  // Returns its innermost frame; 0: it has no stack, or there is no table.
  std::uint32_t AddSample(const ThreadState& thread,
                          const logformat::EventRecord& record) const;
  void CountInPath(ThreadState& thread, std::uint32_t hook_id) const;
  void CountBlockRequest(ProcessState& process,
                         const logformat::EventRecord& record,
                         std::uint32_t hook_id) const;
  void CountHit(ProcessState& process, std::uint32_t hook_id) const;
  bool paused() const { return dispatches_.coverage().paused; }

  const HookTable& hooks_;
  ThreadRegistry& registry_;
  DispatchTracker& dispatches_;
  SegmentBuilder& segments_;
  TimelineObserver* observer_;
  SampleSums* samples_;  // null: no table of them
  CallValues* values_;   // null: no call has one
  bool calls_left_out_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENTS_KERNEL_HOOKS_H_
