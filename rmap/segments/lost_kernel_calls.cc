// The part of SegmentBuilder for the calls of kernel segments (system calls,
// faults) of a thread whose kernel records may be among the lost ones.
//
//   since the loss   the thread may have left the open calls, made others, and
//                    may be in one now
//   until            a record of its own that shows in which calls it is: the
//                    enter or exit of a system call, a hook in its code
//
// A gap is no time of a call: calls end where it begins. Only the exit of the
// innermost one, of a thread that was on no CPU at the loss, shows that it went
// on, or that another call of the same segment did. A fault can come before
// that record: it is a call like others, in a path that is not sure.
#include <algorithm>
#include <utility>

#include "rmap/segments/segment_builder.h"

namespace countrace::rmap {

void SegmentBuilder::EndKernelDoubt(ThreadState& thread, std::uint64_t time_ns,
                                    std::uint32_t exits) {
  ResolveKernelDoubt(thread, time_ns, exits);
  if (calls_left_out_) [[unlikely]]
    BeginKernelDoubt(thread, time_ns);
}

void SegmentBuilder::ResolveKernelDoubt(ThreadState& thread,
                                        std::uint64_t time_ns,
                                        std::uint32_t exits) {
  UnseenState& unseen = thread.unseen;
  if (unseen.stack_since_ns == UnseenState::kNever) [[likely]]
    return;
  const std::uint64_t since_ns =
      std::exchange(unseen.stack_since_ns, UnseenState::kNever);
  if (thread.process == nullptr) return;
  const std::uint64_t ns = time_ns - std::min(time_ns, since_ns);
  thread.process->kernel_unknown_ns += ns;
  std::vector<Frame>& frames = thread.stack.frames;
  for (const Frame& frame : frames) {
    frame.node->unseen.Write().inner_ns += ns;
  }

  const auto in_kernel = [this](const Frame& frame) {
    return origins_[frame.hook_id] == logformat::HookOrigin::kKernel;
  };
  const ThreadNow now = NowOf(thread, coverage_);
  const bool goes_on =
      !unseen.stack_running && !frames.empty() && in_kernel(frames.back()) &&
      frames.back().hook_id == exits && frames.back().begin_ns <= since_ns;
  if (goes_on) {
    for (auto frame = frames.rbegin();
         frame != frames.rend() && in_kernel(*frame); ++frame) {
      UnseenSums& sums = frame->node->unseen.Write();
      ++sums.calls;
      sums.less_ns += ns;
      sums.events += now.switches - unseen.stack_switches + now.faults -
                     unseen.stack_faults;
      // The counts at its enter do not belong to those at its exit.
      frame->present = 0;
      if (kernel_events_ != 0) {
        const auto depth = static_cast<std::size_t>(frames.rend() - frame) - 1;
        std::fill_n(thread.stack.dumps.data() + depth * frame_words_ + copied_,
                    present_words_, 0);
      }
    }
    return;
  }
  ThreadNow then = now;
  then.on_cpu_ns = unseen.stack_on_cpu_ns;
  then.running_since_ns = ThreadNow::kNever;
  then.switches = unseen.stack_switches;
  then.faults = unseen.stack_faults;
  MoveWaits(thread, since_ns);
  while (!frames.empty() && in_kernel(frames.back())) {
    // A fault that came after the loss: it may have waited since.
    const bool after = frames.back().begin_ns > since_ns;
    ++frames.back().node->unseen.Write().calls;
    Close(thread, after ? now : then, nullptr, after ? time_ns : since_ns);
  }
}

// The innermost call of `since_ns` ends there: what its thread waited and was
// blocked later is the next call's around it that goes on.
void SegmentBuilder::MoveWaits(ThreadState& thread,
                               std::uint64_t since_ns) const {
  const auto from = std::find_if(
      thread.stack.frames.rbegin(), thread.stack.frames.rend(),
      [since_ns](const Frame& frame) { return frame.begin_ns <= since_ns; });
  const auto goes_on = std::find_if(
      from, thread.stack.frames.rend(), [this](const Frame& frame) {
        return origins_[frame.hook_id] != logformat::HookOrigin::kKernel;
      });
  if (from == goes_on) return;
  const auto add = [&](PathNode& node, std::uint64_t sign) {
    const UnseenState& unseen = thread.unseen;
    node.wait_ns += sign * unseen.stack_wait_ns;
    node.blocked_ns += sign * unseen.stack_blocked_ns;
  };
  add(*from->node, ~std::uint64_t{0});
  if (goes_on != thread.stack.frames.rend()) add(*goes_on->node, 1);
}

void SegmentBuilder::DoubtEnd(ThreadState& thread, std::uint64_t seen_ns,
                              std::uint64_t time_ns,
                              std::uint64_t latest_ns) const {
  const ThreadNow now = NowOf(thread, coverage_);
  for (const Frame& frame : thread.stack.frames) {
    UnseenSums& unseen = frame.node->unseen.Write();
    ++unseen.calls;
    unseen.more_ns += latest_ns - std::min(latest_ns, time_ns);
    unseen.less_ns +=
        time_ns - std::clamp(std::max(frame.begin_ns, coverage_.range_begin_ns),
                             std::min(seen_ns, time_ns), time_ns);
    // It may have left the CPU for the last time before that.
    unseen.events += now.switches != frame.switches ? 1 : 0;
  }
}

void SegmentBuilder::BeginKernelDoubt(ThreadState& thread,
                                      std::uint64_t time_ns) const {
  if (thread.process == nullptr) return;
  const ThreadNow now = NowOf(thread, coverage_);
  thread.DoubtStack(time_ns, now.OnCpuAt(time_ns), now.on_cpu);
}

}  // namespace countrace::rmap
