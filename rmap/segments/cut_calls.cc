// The part of SegmentBuilder for calls that are open when the range of the
// tables begins: they count from there on, and not in the number of calls. Each
// frame keeps when its call began, which jumps need. For calls that a pause
// cuts: their times stand still in it, and their counts from dumps are unknown.
#include <algorithm>

#include "rmap/segments/segment_builder.h"

namespace countrace::rmap {

void SegmentBuilder::BeginRange(ThreadState& thread) const {
  BeginRange(thread, thread.stack);
  for (auto& [number, stack] : thread.stacks.left) {
    BeginRange(thread, stack);
    stack.left = {.time_ns = coverage_.range_begin_ns,
                  .unseen = thread.dispatch.unseen_switches};
  }
}

void SegmentBuilder::BeginRange(const ThreadState& thread,
                                SegmentStack& stack) const {
  stack.back = {};
  for (Frame& frame : stack.frames) {
    frame.on_cpu_ns = frame.switches = frame.faults = frame.away_ns = 0;
    if (thread.dispatch.serial != 0) frame.dispatch = thread.dispatch.serial;
    frame.loss_epoch = coverage_.loss_epoch;
    frame.unseen = thread.dispatch.unseen_switches;
    // As if the enter had no dump.
    frame.present = 0;
    frame.counters = nullptr;
  }
  for (LeftCall& call : stack.left_calls) {
    call = {call.node, coverage_.range_begin_ns, 0, 0};
  }
  std::fill(stack.dumps.begin(), stack.dumps.end(), 0);
}

void SegmentBuilder::BeginPause(const ThreadState& thread,
                                std::uint64_t time_ns) {
  if (observer_ == nullptr) return;
  const ThreadNow now = NowOf(thread, coverage_);
  for (std::size_t depth = thread.stack.frames.size(); depth-- > 0;) {
    ObserveCall(thread, now, thread.stack.frames[depth], nullptr, time_ns,
                /*end_known=*/true, /*is_left=*/true);
  }
}

void SegmentBuilder::EndPause(ThreadState& thread, std::uint64_t time_ns) {
  const auto forget_dumps = [](SegmentStack& stack) {
    for (Frame& frame : stack.frames) {
      frame.present = 0;
      frame.counters = nullptr;
    }
    std::fill(stack.dumps.begin(), stack.dumps.end(), 0);
  };
  forget_dumps(thread.stack);
  for (auto& [number, stack] : thread.stacks.left) forget_dumps(stack);
  if (observer_ == nullptr || thread.index == kNoThread) return;
  SegmentStack& stack = thread.stack;
  const ThreadNow now = NowOf(thread, coverage_);
  stack.back = {time_ns, now.OnCpuAt(time_ns), now.switches, now.faults,
                now.unseen_switches};
  for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
    const Frame& frame = stack.frames[depth];
    observer_->OnSegmentBegin({thread.index, frame.hook_id, time_ns,
                               static_cast<std::uint32_t>(depth),
                               /*goes_on=*/true, frame.began_paused,
                               frame.begin_ns});
  }
}

}  // namespace countrace::rmap
