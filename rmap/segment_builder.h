// Hook pairs to calls of segments, thread by thread.
//
//   enter            push a frame
//   exit of the top  pop it: one call, observed at both ends
//   exit of an outer frame   the frames inside it left by longjmp or lost their
//                            exits: closed here, end inferred
//   exit without a frame     the enter was not recorded: begin inferred
//   thread exit, exec, end of the trace   open frames closed, end inferred
//
// After a loss in a thread's records its open frames are doubtful: their exits
// may be lost. An enter is then hung on the innermost open frame under which
// this segment was seen before, and the doubtful frames above it are closed.
//
// In: records of hooks, in time order, with the state of their thread. Out:
// sums in CallPaths; spans to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_SEGMENT_BUILDER_H_
#define COUNTRACE_RMAP_SEGMENT_BUILDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "logformat/trace_reader.h"
#include "rmap/call_paths.h"
#include "rmap/dispatch_tracker.h"
#include "rmap/thread_registry.h"
#include "rmap/timeline_observer.h"

namespace countrace::rmap {

// Bits of the counters that are counted in turns.
struct RotatingCounters {
  std::uint32_t thread = 0, kernel = 0;
  // Of the kernel's: place of the running time of each one's set.
  std::vector<std::size_t> kernel_running = {};
};

class SegmentBuilder {
 public:
  // Enters deeper than this are counted, not followed.
  static constexpr std::size_t kMaxDepth = 8192;

  SegmentBuilder(CallPaths& paths, const KernelCoverage& coverage,
                 std::size_t thread_events, std::size_t kernel_events,
                 const std::vector<logformat::HookOrigin>& origins,
                 RotatingCounters rotating, TimelineObserver* observer)
      : paths_(paths),
        coverage_(coverage),
        events_(thread_events),
        kernel_events_(kernel_events),
        frame_words_((events_ != 0 ? 1 + events_ : 0) +
                     (kernel_events_ != 0 ? 1 + kernel_events_ : 0)),
        origins_(origins),
        rotating_(std::move(rotating)),
        observer_(observer) {}

  // Requires: thread.process != nullptr.
  void Enter(ThreadState& thread, std::uint32_t hook_id,
             const logformat::EventRecord& record, std::uint64_t time_ns);
  void Exit(ThreadState& thread, std::uint32_t hook_id,
            const logformat::EventRecord& record, std::uint64_t time_ns);
  // Records of `thread` were lost after its last one.
  void OnLoss(ThreadState& thread);
  // Ends every open call of `thread` and frees its stack. `ended`: a record
  // says that the thread, or its program, ended here, so that what the kernel
  // did for it is known to be over.
  void CloseAll(ThreadState& thread, std::uint64_t time_ns, bool ended = false);
  // `thread` runs its own code: what the kernel did for it is over, though its
  // exit has not come (a clock error, or a loss).
  void LeaveKernel(ThreadState& thread, std::uint64_t time_ns);
  // Ends the innermost open call, whose exit never comes. Requires: one is.
  void EndInnermost(ThreadState& thread, std::uint64_t time_ns) {
    Close(thread, nullptr, time_ns);
  }
  // Forgets the innermost open call. Requires: one is, and nothing was in it.
  void DropInnermost(ThreadState& thread);
  static bool IsOpen(const ThreadState& thread, std::uint32_t hook_id);

  std::uint64_t too_deep() const { return too_deep_; }

 private:
  // Pops the innermost frame as one call that ended at `time_ns`. `record` is
  // its exit, null if that was not recorded; `end_known`: it ended then all the
  // same.
  void Close(ThreadState& thread, const logformat::EventRecord* record,
             std::uint64_t time_ns, bool end_known = false);
  void ExitOutOfOrder(ThreadState& thread, std::uint32_t hook_id,
                      const logformat::EventRecord& record,
                      std::uint64_t time_ns);
  void ResolveDoubt(ThreadState& thread, std::uint32_t hook_id,
                    std::uint64_t time_ns);
  bool IsOnCpuExact(const ThreadState& thread, const Frame& frame,
                    std::uint64_t time_ns) const;
  static void NoteTurn(SegmentStack& stack,
                       const logformat::EventRecord& record);
  void PushDumps(ThreadState& thread, const logformat::EventRecord& record);
  void AddDumps(const ThreadState& thread, PathNode& node,
                const std::uint64_t* begin,
                const logformat::EventRecord* record) const;
  void AddKernelDumps(const ThreadState& thread, PathNode& node,
                      const std::uint64_t* begin,
                      const logformat::EventRecord* record, bool exact) const;
  PathNode* Top(const ThreadState& thread) const {
    return thread.stack.frames.empty() ? thread.process->paths
                                       : thread.stack.frames.back().node;
  }

  CallPaths& paths_;
  const KernelCoverage& coverage_;
  std::size_t events_;         // counted by threads
  std::size_t kernel_events_;  // counted by CPUs, if kernel hooks dump them
  std::size_t frame_words_;    // of SegmentStack::dumps
  const std::vector<logformat::HookOrigin>& origins_;  // by hook id
  RotatingCounters rotating_;
  TimelineObserver* observer_;
  std::uint64_t too_deep_ = 0;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENT_BUILDER_H_
