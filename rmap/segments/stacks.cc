// The part of SegmentBuilder for threads that switch between stacks (fibers,
// swapcontext): each stack has its own open calls.
//
//   the thread goes to another stack   the open calls wait: no time, switch or
//                                      fault of the thread is theirs
//   it comes back                      they go on
//   it never does                      they ended where it left them, inferred
//
// For the observer a call is a span for each time that the thread was on its
// stack, so that the spans of a thread nest.
#include <algorithm>
#include <utility>

#include "rmap/segments/segment_builder.h"

namespace countrace::rmap {

namespace {

// `frame` as if its call had begun when the thread came back.
Frame SinceBack(const Frame& frame, const StackClocks& back) {
  Frame part = frame;
  part.begin_ns = back.time_ns;
  part.on_cpu_ns = back.on_cpu_ns;
  part.switches = back.switches;
  part.faults = back.faults;
  part.unseen = back.unseen;
  part.away_ns = 0;
  return part;
}

// A context went on in another thread, where the calls of `stack` may have
// gone on.
void DoubtElsewhere(SegmentStack& stack, std::uint64_t time_ns) {
  for (Frame& frame : stack.frames) {
    const std::uint64_t ns = time_ns - std::min(stack.left.time_ns, time_ns);
    UnseenSums& unseen = frame.node->unseen.Write();
    ++unseen.calls;
    unseen.more_ns += ns;
  }
}

}  // namespace

Frame SegmentBuilder::PartOf(const SegmentStack& stack, const Frame& frame) {
  return frame.begin_ns <= stack.back.time_ns ? SinceBack(frame, stack.back)
                                              : frame;
}

void SegmentBuilder::SwitchStack(ThreadState& thread, const ThreadNow& now,
                                 const StackSwitch& change) {
  ThreadStacks& stacks = thread.stacks;
  stacks.jump_follows = true;
  if (stacks.current != change.from &&
      (stacks.current != 0 || stacks.left.contains(change.from))) {
    // Records of switches are missing.
    DoubtInnermost(thread, thread.stack.frames.size());
    thread.stack.too_deep = 0;
    while (!thread.stack.frames.empty()) {
      Close(thread, now, nullptr, change.time_ns);
    }
  }
  stacks.current = change.from;
  std::uint64_t& latest = thread.process->latest_stack;
  if (change.to <= latest && !stacks.left.contains(change.to)) {
    for (ThreadState* other : thread.process->threads) {
      const auto found = other->stacks.left.find(change.to);
      if (found != other->stacks.left.end()) found->second.elsewhere = true;
      if (other != &thread && other->stacks.current == change.to) {
        other->stack.elsewhere = true;
      }
    }
  }
  latest = std::max({latest, change.from, change.to});
  GoTo(thread, now, change.to, change.time_ns);
}

void SegmentBuilder::GoTo(ThreadState& thread, const ThreadNow& now,
                          std::uint64_t to, std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  ThreadStacks& stacks = thread.stacks;
  const StackClocks clocks = {time_ns, now.OnCpuAt(time_ns), now.switches,
                              now.faults, now.unseen_switches};
  if (observer_ != nullptr) {
    for (std::size_t depth = stack.frames.size(); depth-- > 0;) {
      ObserveCall(thread, now, stack.frames[depth], nullptr, time_ns,
                  /*end_known=*/true, /*is_left=*/true);
    }
  }
  auto next = stacks.left.extract(to);
  SegmentStack found;
  if (!next.empty()) found = std::move(next.mapped());
  found.mmcr = stack.mmcr;
  found.turn = stack.turn;
  if (!stack.frames.empty() || !stack.left_calls.empty()) {
    stack.left = clocks;
    if (next.empty()) {
      stacks.left[stacks.current] = std::move(stack);
    } else {
      next.key() = stacks.current;
      next.mapped() = std::move(stack);
      stacks.left.insert(std::move(next));
    }
  }
  stack = std::move(found);
  stacks.current = to;
  stack.back = clocks;
  const std::uint64_t away_ns = time_ns - std::min(stack.left.time_ns, time_ns);
  // What the thread did meanwhile is not the call's.
  const auto go_on = [&clocks, &left = stack.left](auto& call) {
    call.switches += clocks.switches - left.switches;
    call.faults += clocks.faults - left.faults;
  };
  for (Frame& frame : stack.frames) {
    go_on(frame);
    frame.on_cpu_ns += clocks.on_cpu_ns - stack.left.on_cpu_ns;
    frame.away_ns += away_ns;
    frame.unseen += clocks.unseen - stack.left.unseen;
    // As if the enter had no dump: others were counted meanwhile.
    frame.present = 0;
    frame.counters = nullptr;
  }
  for (LeftCall& call : stack.left_calls) {
    go_on(call);
    call.end_ns += away_ns;
  }
  std::fill(stack.dumps.begin(), stack.dumps.end(), 0);
  if (observer_ == nullptr) return;
  for (std::size_t depth = 0; depth < stack.frames.size(); ++depth) {
    observer_->OnSegmentBegin({thread.index, stack.frames[depth].hook_id,
                               time_ns, static_cast<std::uint32_t>(depth),
                               /*goes_on=*/true, /*cut=*/false,
                               stack.frames[depth].begin_ns});
  }
}

void SegmentBuilder::CloseLeft(ThreadState& thread, const ThreadNow& now,
                               std::uint64_t time_ns) {
  // It has their spans.
  TimelineObserver* const observer = std::exchange(observer_, nullptr);
  while (!thread.stacks.left.empty()) {
    const auto next = thread.stacks.left.begin();
    if (next->second.elsewhere) DoubtElsewhere(next->second, time_ns);
    GoTo(thread, now, next->first, time_ns);
    DoubtRecursion(thread);
    while (!thread.stack.frames.empty()) {
      Close(thread, now, nullptr, time_ns);
    }
    thread.stack = SegmentStack();  // or the next GoTo() would keep it
  }
  thread.stacks.current = 0;
  observer_ = observer;
}

}  // namespace countrace::rmap
