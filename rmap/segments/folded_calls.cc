// The part of SegmentBuilder for calls without a path of their own: their sums
// by segment (rmap/state/folded_calls.h).
#include <algorithm>

#include "rmap/segments/segment_builder.h"

namespace countrace::rmap {

void SegmentBuilder::CountTooDeep(const SegmentStack& stack, PathNode& root,
                                  std::uint32_t hook_id) {
  FoldedCalls& sums = root.Folded(hook_id);
  ++sums.calls;
  sums.times_bounded = true;
  // Its time remains with the innermost call that is followed.
  root.Folded(stack.frames.back().hook_id).times_bounded = true;
}

void SegmentBuilder::AddFolded(const ThreadState& thread, const ThreadNow& now,
                               const Frame& frame, const FoldedCall& call) {
  const std::vector<Frame>& frames = thread.stack.frames;
  PathNode& root = *now.process->paths;
  FoldedCalls& sums = root.Folded(frame.hook_id);
  if (!call.cut) {
    ++sums.calls;
    if (call.end_inferred) ++sums.end_inferred;
    sums.wall.Add(call.amounts.wall_ns);
  }
  if (!call.on_cpu_exact) sums.on_cpu_exact = false;
  sums.excl.Add(call.amounts);
  const auto outer = frames.rbegin() + 1;  // behind `frame`
  if (std::none_of(outer, frames.rend(), [&](const Frame& around) {
        return around.hook_id == frame.hook_id;
      })) {
    sums.incl.Add(call.amounts);
  }
  // Else a node of the tree subtracts it.
  if (outer != frames.rend() && outer->node == frame.node) {
    root.Folded(outer->hook_id).excl.Subtract(call.amounts);
  }
}

}  // namespace countrace::rmap
