// The part of SegmentBuilder for calls that are open when the range of the
// tables begins: they count from there on, and not in the number of calls. Each
// frame keeps when its call began, which jumps need.
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

}  // namespace countrace::rmap
