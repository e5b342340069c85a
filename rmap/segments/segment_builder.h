// Hook pairs to calls of segments, thread by thread.
//
//   enter            push a frame
//   exit of the top  pop it: one call, observed at both ends
//   exit of an outer frame   the frames inside it left by longjmp or lost their
//                            exits: closed here, end inferred
//   exit without a frame     the enter was not recorded: begin inferred
//   thread exit, exec, end of the trace   open frames closed, end inferred
//   jump             jumps.cc
//   another stack    stacks.cc
//
// After a loss in a thread's records its open frames are doubtful: their exits
// may be lost. The next enter goes under the innermost open frame under which
// this segment occurred before, and the doubtful frames above it are closed.
//
// In: records of hooks, in time order, with the state of their thread. Out:
// sums in CallPaths; spans to the observer. Thread: one.
#ifndef COUNTRACE_RMAP_SEGMENTS_SEGMENT_BUILDER_H_
#define COUNTRACE_RMAP_SEGMENTS_SEGMENT_BUILDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "logformat/records.h"
#include "rmap/dispatch/kernel_coverage.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/call_paths.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

// Bits of the multiplexed counters.
struct RotatingCounters {
  std::uint32_t thread = 0;
  // Rotations of a thread in a round: two of each set.
  std::uint32_t turns_in_round = 1;
  MeasureSet kernel;
  // For the kernel's counters: index of the running time of each one's set.
  std::vector<std::size_t> kernel_running = {};
};

// A thread's state from kernel records; valid until the next of them.
struct ThreadNow {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  ProcessState* process = nullptr;
  // On-CPU time up to `running_since_ns`; kNever: it does not run.
  std::uint64_t on_cpu_ns = 0, running_since_ns = kNever;
  std::uint64_t switches = 0, faults = 0;
  std::uint64_t dispatch = 0, first_switch_in_ns = 0;
  std::uint32_t unseen_switches = 0;
  bool on_cpu = false, dispatch_sure = false;
  const KernelCoverage* coverage = nullptr;

  // Outside its dispatches the time stands still; clock error can put a user
  // record there.
  std::uint64_t OnCpuAt(std::uint64_t time_ns) const {
    return time_ns <= running_since_ns
               ? on_cpu_ns
               : on_cpu_ns + (time_ns - running_since_ns);
  }
};
// Requires: thread.process != nullptr.
ThreadNow NowOf(const ThreadState& thread, const KernelCoverage& coverage);

// The counters in a hook's record.
struct HookDump {
  enum class Of : std::uint8_t { kNothing, kThread, kKernel };
  Of of = Of::kNothing;
  std::uint32_t mmcr = 0, present = 0;      // see ThreadDump
  const std::uint64_t* counters = nullptr;  // null: kNothing
};
HookDump DumpOf(const logformat::EventRecord& record);

// Hooks of the runtime library itself (logformat/jump_hook.h); kNoHook: the
// trace does not have it.
struct JumpHooks {
  static constexpr std::uint32_t kNoHook = ~std::uint32_t{0};
  std::uint32_t jump = kNoHook, stack = kNoHook, scope = kNoHook;
  bool Have(std::uint32_t hook_id) const {
    return hook_id == jump || hook_id == stack || hook_id == scope;
  }
};

class SegmentBuilder {
 public:
  // Enters deeper than this are counted, not followed.
  static constexpr std::size_t kMaxDepth = 8192;
  // Calls of a thread that ended without their exits, which may still come.
  static constexpr std::size_t kMaxLeft = 64;
  static constexpr std::uint32_t kNoHook = JumpHooks::kNoHook;

  // `dumps_stay`: counters of threads stay in memory until all records are
  // read. `jumps`, `kernel_fault`: HookTable's.
  SegmentBuilder(CallPaths& paths, const KernelCoverage& coverage,
                 std::size_t thread_events, bool dumps_stay,
                 std::size_t kernel_events,
                 const std::vector<logformat::HookOrigin>& origins,
                 const JumpHooks& jumps, std::uint32_t kernel_fault,
                 RotatingCounters rotating, TimelineObserver* observer)
      : paths_(paths),
        coverage_(coverage),
        events_(thread_events),
        copied_(dumps_stay ? 0 : thread_events),
        kernel_events_(kernel_events),
        present_words_((kernel_events_ + MeasureSet::kWordBits - 1) /
                       MeasureSet::kWordBits),
        frame_words_(copied_ + present_words_ + kernel_events_),
        origins_(origins),
        jumps_(jumps),
        kernel_fault_(kernel_fault),
        rotating_(std::move(rotating)),
        observer_(observer),
        call_counts_(observer != nullptr && observer->WantsCallCounts()) {}

  // Requires: thread.process != nullptr. `value`: PathNode's.
  void Enter(ThreadState& thread, std::uint32_t hook_id, const HookDump& dump,
             std::uint64_t time_ns, std::uint32_t value = 0);
  void Exit(ThreadState& thread, std::uint32_t hook_id, const HookDump& dump,
            std::uint64_t time_ns);
  // A run of records of `thread`; `kinds`: of hooks, by id. It changes only the
  // stack of the thread's state. Requires: their dumps stay in memory, and
  // kernel hooks have no counters.
  void Run(ThreadState& thread, const ThreadNow& now,
           std::span<const logformat::ThreadRecord> records,
           const std::vector<logformat::HookKind>& kinds);
  // A record of one of the jump hooks (logformat/jump_hook.h): `thread` left
  // open calls without their exits, or for a time, or a call is a coroutine's.
  void Jump(ThreadState& thread, const logformat::EventRecord& record,
            std::uint64_t time_ns);
  // Records of `thread` were lost after the previous one.
  static void OnLoss(ThreadState& thread);
  // Stores that a hook record of `thread` came, of a segment or not.
  static void NoteHook(ThreadState& thread, std::uint64_t time_ns) {
    thread.hooks.last_ns = time_ns;
  }
  // The next exit of a kernel hook in `thread` may have no enter.
  static void ExpectExit(ThreadState& thread, bool expected = true) {
    thread.hooks.exit_expected = expected;
  }
  // Returns and clears that flag.
  static bool TakeExpectedExit(ThreadState& thread) {
    return std::exchange(thread.hooks.exit_expected, false);
  }
  // Ends every open call of `thread` and frees its stack. `ended`: a record
  // says that the thread, or its program, ended here, so that the kernel's work
  // for it is over, too: but a fault of the kernel that is open failed before.
  void CloseAll(ThreadState& thread, std::uint64_t time_ns, bool ended = false);
  void CloseAll(ThreadState& thread, const ThreadNow& now,
                std::uint64_t time_ns, bool ended);
  // `thread` runs its own code: the kernel's work for it is over, though no
  // exit came (a clock error, or a loss).
  void LeaveKernel(ThreadState& thread, std::uint64_t time_ns);
  // Ends every open call of `thread`, of which the exits are missing: what was
  // recorded inside may lie outside.
  void LeaveAll(ThreadState& thread, std::uint64_t time_ns) {
    DoubtInnermost(thread, thread.stack.frames.size());
    CloseAll(thread, time_ns);
  }
  // Ends the innermost open call, whose exit never comes. Requires: a call is
  // open.
  void EndInnermost(ThreadState& thread, std::uint64_t time_ns) {
    DoubtInnermost(thread, 1);
    Close(thread, NowOf(thread, coverage_), nullptr, time_ns);
  }
  // A record shows which kernel segments `thread` is in now, which was unknown
  // since records were lost (UnseenState): ends those that were open then.
  // `exits`: it is the exit of this hook; kNoHook: it is another record.
  void EndKernelDoubt(ThreadState& thread, std::uint64_t time_ns,
                      std::uint32_t exits = kNoHook);
  // The exit of `thread` may be among lost records, after its last one at
  // `seen_ns`: its calls ended at any time up to `latest_ns`, not at `time_ns`.
  void DoubtEnd(ThreadState& thread, std::uint64_t seen_ns,
                std::uint64_t time_ns, std::uint64_t latest_ns) const;
  // Requires: every thread is in doubt. While calls are left out, they stay so.
  void SetCallsLeftOut(bool left_out) { calls_left_out_ = left_out; }
  // It is unknown again.
  void BeginKernelDoubt(ThreadState& thread, std::uint64_t time_ns) const;
  // The innermost open call may belong to another path.
  static void DoubtPlace(ThreadState& thread) {
    if (!thread.stack.frames.empty())
      thread.stack.frames.back().doubtful = true;
  }
  // Drops the innermost open call. Requires: a call is open, with none inside.
  void DropInnermost(ThreadState& thread);
  static bool IsOpen(const ThreadState& thread, std::uint32_t hook_id);

  // The tables' range begins: what was counted before is dropped. Open calls of
  // `thread` count from here on, without what dumps at their enters would
  // show. Requires: DispatchTracker has set the thread's clocks to 0.
  void BeginRange(ThreadState& thread) const;
  void BeginRange(const ThreadState& thread, SegmentStack& stack) const;
  // For each thread: a pause begins, or ends.
  void BeginPause(const ThreadState& thread, std::uint64_t time_ns);
  void EndPause(ThreadState& thread, std::uint64_t time_ns);
  void ForgetSums() {
    too_deep_ = 0;
    late_exits_.clear();
  }

  std::uint64_t too_deep() const { return too_deep_; }
  // By hook id: calls that ended after the one around them did.
  const std::map<std::uint32_t, std::uint64_t>& late_exits() const {
    return late_exits_;
  }

 private:
  // Pops the innermost frame as one call that ended at `time_ns`. `dump`
  // belongs to its exit, null if that was not recorded. `end_known`: the end is
  // known in spite of that.
  void Close(ThreadState& thread, const ThreadNow& now, const HookDump* dump,
             std::uint64_t time_ns, bool end_known = false);
  // Inlined forms of Enter, Exit, Close and DropInnermost, for the loop of
  // Run().
  void Push(ThreadState& thread, const ThreadNow& now, std::uint32_t hook_id,
            const HookDump& dump, std::uint64_t time_ns,
            std::uint32_t value = 0);
  void Pop(ThreadState& thread, const ThreadNow& now, std::uint32_t hook_id,
           const HookDump& dump, std::uint64_t time_ns);
  void CloseInnermost(ThreadState& thread, const ThreadNow& now,
                      const HookDump* dump, std::uint64_t time_ns,
                      bool end_known);
  void DropTop(SegmentStack& stack) const;
  // Reports the call of `frame` to the observer, or its last part. Out of line:
  // reports do not use it.
  [[gnu::noinline]] void ObserveCall(const ThreadState& thread,
                                     const ThreadNow& now, const Frame& frame,
                                     const HookDump* dump,
                                     std::uint64_t time_ns, bool end_known,
                                     bool is_left = false);
  void AddCallCounts(const ThreadState& thread, const ThreadNow& now,
                     const Frame& frame, const HookDump* dump,
                     SegmentSpan& span);
  void ExitOutOfOrder(ThreadState& thread, const ThreadNow& now,
                      std::uint32_t hook_id, const HookDump& dump,
                      std::uint64_t time_ns);
  void ResolveDoubt(ThreadState& thread, const ThreadNow& now,
                    std::uint32_t hook_id, std::uint64_t time_ns);
  static bool IsOnCpuExact(const ThreadNow& now, const Frame& frame,
                           std::uint64_t time_ns);
  // Kernel records do not cover the call, though none was lost.
  static bool IsUncovered(const ThreadNow& now, const Frame& frame,
                          std::uint64_t time_ns);
  void PushDumps(ThreadState& thread, const HookDump& dump);
  // `payload`: of the record of `hook_id`.
  void Jump(ThreadState& thread, const ThreadNow& now, std::uint32_t hook_id,
            std::span<const std::byte> payload, const HookDump& dump,
            std::uint64_t time_ns);
  struct StackSwitch {
    std::uint64_t from, to, time_ns;
  };
  void SwitchStack(ThreadState& thread, const ThreadNow& now,
                   const StackSwitch& change);
  // The calls of the present stack wait in `thread.stacks`; those of `to` go
  // on.
  void GoTo(ThreadState& thread, const ThreadNow& now, std::uint64_t to,
            std::uint64_t time_ns);
  // The call of `frame` since the thread came back to the stack.
  static Frame PartOf(const SegmentStack& stack, const Frame& frame);
  // Ends the calls that wait, which ended where they were left.
  void CloseLeft(ThreadState& thread, const ThreadNow& now,
                 std::uint64_t time_ns);
  // The scope at `place` began with the innermost open call, or ends next.
  static void NoteScope(ThreadState& thread, std::uint64_t place, bool ends);
  // The `calls` innermost open calls ended without a record of it, some time
  // before now: what was recorded inside them may lie outside.
  void DoubtInnermost(ThreadState& thread, std::size_t calls) const;
  // Keeps the innermost call, which ends at `time_ns` because one around it
  // does: its own exit may still come.
  static void NoteLeft(ThreadState& thread, const ThreadNow& now,
                       std::uint64_t time_ns);
  // True if the exit of `hook_id` is that of such a call.
  bool EndLeft(ThreadState& thread, const ThreadNow& now, std::uint32_t hook_id,
               std::uint64_t time_ns);
  void ResolveKernelDoubt(ThreadState& thread, std::uint64_t time_ns,
                          std::uint32_t exits);
  void MoveWaits(ThreadState& thread, std::uint64_t since_ns) const;
  // Before CloseAll: a segment that is open several times may have been left
  // each time.
  void DoubtRecursion(ThreadState& thread) const;
  // The innermost call, that of `frame`, ended on a path that was folded.
  static void AddFolded(const ThreadState& thread, const ThreadNow& now,
                        const Frame& frame, const FoldedCall& call);
  // Counts an enter beyond kMaxDepth.
  static void CountTooDeep(const SegmentStack& stack, PathNode& root,
                           std::uint32_t hook_id);
  // Adds counters of the thread: `begin` at the enter of `frame`, `end` at its
  // exit.
  void AddDumps(const ThreadState& thread, const Frame& frame,
                const std::uint64_t* begin, const HookDump* end) const;
  void AddKernelDumps(const ThreadState& thread, PathNode& node,
                      const std::uint64_t* begin, const HookDump* end,
                      bool exact) const;
  static PathNode* Top(const SegmentStack& stack, const ThreadNow& now) {
    return stack.frames.empty() ? now.process->paths : stack.frames.back().node;
  }

  CallPaths& paths_;
  const KernelCoverage& coverage_;
  std::size_t events_;  // number of events counted by threads
  std::size_t copied_;  // part of them: events_, or 0 if dumps stay in memory
  std::size_t kernel_events_;  // number of events counted by CPUs, if kernel
                               // hooks dump them
  std::size_t present_words_;  // the bits of these
  std::size_t frame_words_;    // words for a frame in SegmentStack::dumps
  const std::vector<logformat::HookOrigin>& origins_;  // by hook id
  JumpHooks jumps_;
  std::uint32_t kernel_fault_;
  bool calls_left_out_ = false;
  RotatingCounters rotating_;
  TimelineObserver* observer_;
  bool call_counts_;  // the observer's WantsCallCounts()
  std::vector<std::optional<std::uint64_t>> observed_dumps_;
  std::uint64_t too_deep_ = 0;
  std::map<std::uint32_t, std::uint64_t> late_exits_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SEGMENTS_SEGMENT_BUILDER_H_
