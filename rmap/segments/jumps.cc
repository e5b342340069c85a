// The part of SegmentBuilder for calls that a jump left (longjmp, a switch to
// another stack), and for what such calls make of the tree of call paths.
//
//   the time of setjmp is recorded    calls that began later ended at the jump:
//                                     exact
//   it is not                         open calls are doubtful: ResolveDoubt()
//   there is no record of the jump    an outer exit, or the end, shows that
//                                     they are over
//
// In the last two cases what was recorded inside these calls may lie outside:
// PathNode::left_unseen. So it is in the kernel's work that fails without an
// end, such as a page fault.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "rmap/segments/segment_builder.h"

namespace countrace::rmap {

void SegmentBuilder::Jump(ThreadState& thread,
                          const logformat::EventRecord& record,
                          std::uint64_t time_ns) {
  Jump(thread, NowOf(thread, coverage_),
       logformat::EventHookId(record.event_id), record.payload, DumpOf(record),
       time_ns);
}

void SegmentBuilder::Jump(ThreadState& thread, const ThreadNow& now,
                          std::uint32_t hook_id,
                          std::span<const std::byte> payload,
                          const HookDump& dump, std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  std::uint64_t values[2] = {};
  std::memcpy(values, payload.data(), std::min(payload.size(), sizeof(values)));
  if (hook_id == jumps_.stack) {
    SwitchStack(thread, now, {values[0], values[1], time_ns});
    return;
  }
  if (hook_id == jumps_.scope) {
    return NoteScope(thread, values[0], values[1] != 0);
  }
  const std::uint64_t since_ns = values[0];
  if (since_ns == 0) {
    if (std::exchange(thread.stacks.jump_follows, false)) return;
    DoubtInnermost(thread, stack.frames.size());
    stack.doubtful = stack.frames.size();
    return;
  }
  if (stack.too_deep != 0) {
    if (stack.too_deep_since_ns > since_ns) {
      stack.too_deep = 0;
    } else {
      // When the others began is not kept: some ended, but not which exits
      // still come.
      DoubtInnermost(thread, stack.frames.size());
    }
  }
  while (!stack.frames.empty() && stack.frames.back().begin_ns > since_ns) {
    Close(thread, now, &dump, time_ns);
  }
}

void SegmentBuilder::NoteScope(ThreadState& thread, std::uint64_t place,
                               bool ends) {
  SegmentStack& stack = thread.stack;
  const std::vector<Frame>& frames = stack.frames;
  std::vector<OpenScope>& scopes = stack.scopes;
  while (!scopes.empty() &&
         scopes.back().depth + (ends ? 0 : 1) >= frames.size()) {
    scopes.pop_back();
  }
  if (frames.empty() || stack.too_deep != 0) return;
  if (!ends) {
    if (frames.size() > stack.doubtful) {  // else its enter may be lost
      scopes.push_back({place, frames.size() - 1, frames.back().begin_ns});
    }
    return;
  }
  const auto scope =
      std::find_if(scopes.rbegin(), scopes.rend(), [&](const OpenScope& each) {
        return each.place == place &&
               each.begin_ns == frames[each.depth].begin_ns;
      });
  // After a loss, the record of its enter may be missing.
  if (scope == scopes.rend() && thread.process->hooks_lost) return;
  stack.exit_of = scope == scopes.rend() ? 0 : scope->depth + 1;
  stack.exit_at = stack.exit_of == frames.size() ? 0 : frames.size();
}

void SegmentBuilder::DoubtInnermost(ThreadState& thread,
                                    std::size_t calls) const {
  // After a loss every row of the process is bounded already.
  if (thread.process->hooks_lost) return;
  std::vector<Frame>& frames = thread.stack.frames;
  for (auto frame = frames.rbegin(); calls > 0; ++frame, --calls) {
    frame->left = true;
    frame->node->left_unseen = true;
  }
}

void SegmentBuilder::NoteLeft(ThreadState& thread, const ThreadNow& now,
                              std::uint64_t time_ns) {
  std::vector<LeftCall>& left = thread.stack.left_calls;
  if (left.size() >= kMaxLeft) left.erase(left.begin());
  left.push_back({thread.stack.Top(), time_ns, now.switches, now.faults});
}

bool SegmentBuilder::EndLeft(ThreadState& thread, const ThreadNow& now,
                             std::uint32_t hook_id, std::uint64_t time_ns) {
  std::vector<LeftCall>& left = thread.stack.left_calls;
  const auto call =
      std::find_if(left.rbegin(), left.rend(), [hook_id](const LeftCall& each) {
        return each.node->hook_id == hook_id;
      });
  if (call == left.rend()) return false;
  ++late_exits_[hook_id];
  const std::uint64_t ns = time_ns - std::min(time_ns, call->end_ns);
  UnseenSums& unseen = call->node->unseen.Write();
  ++unseen.late_exits;
  ++unseen.calls;
  unseen.more_ns += ns;
  unseen.events += now.switches - call->switches + now.faults - call->faults;
  // That time may not be of the calls that seem to go on alone.
  for (const Frame& frame : thread.stack.frames) {
    frame.node->unseen.Write().inner_ns +=
        std::min(ns, time_ns - std::min(time_ns, frame.begin_ns));
  }
  left.erase(std::next(call).base());
  return true;
}

void SegmentBuilder::DoubtRecursion(ThreadState& thread) const {
  if (thread.stack.frames.size() < 2) return;
  absl::flat_hash_set<std::uint32_t> open;
  std::size_t outermost = thread.stack.frames.size();
  for (std::size_t i = 0; i < thread.stack.frames.size(); ++i) {
    if (open.insert(thread.stack.frames[i].hook_id).second) continue;
    const std::uint32_t hook_id = thread.stack.frames[i].hook_id;
    outermost = static_cast<std::size_t>(
        std::find_if(thread.stack.frames.begin(), thread.stack.frames.end(),
                     [hook_id](const Frame& frame) {
                       return frame.hook_id == hook_id;
                     }) -
        thread.stack.frames.begin());
    break;
  }
  DoubtInnermost(thread, thread.stack.frames.size() - outermost);
}

}  // namespace countrace::rmap
