#include "rmap/segment_builder.h"

#include <algorithm>

namespace countrace::rmap {

using logformat::EventRecord;

namespace {

constexpr std::uint64_t SaturatingSubtract(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

// The counters of a kernel hook's record are the CPU's.
constexpr bool HasThreadDump(const EventRecord& record) {
  return record.counters != nullptr &&
         record.stream_class == logformat::StreamClass::kThread;
}
constexpr bool HasKernelDump(const EventRecord& record) {
  return record.counters != nullptr &&
         record.stream_class == logformat::StreamClass::kCpu;
}

}  // namespace

void SegmentBuilder::Enter(ThreadState& thread, std::uint32_t hook_id,
                           const EventRecord& record, std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  if (stack.doubtful != 0 && stack.doubtful == stack.frames.size())
      [[unlikely]] {
    ResolveDoubt(thread, hook_id, time_ns);
  }
  if (stack.frames.size() >= kMaxDepth) [[unlikely]] {
    ++stack.too_deep;
    ++too_deep_;
    return;
  }
  PathNode* node = paths_.Child(Top(thread), hook_id);
  stack.frames.push_back({node, time_ns, thread.OnCpuAt(time_ns),
                          thread.switches_out, thread.faults, thread.stay,
                          coverage_.loss_epoch, thread.unseen_switches,
                          hook_id});
  if (frame_words_ != 0) PushDumps(thread, record);
  if (observer_ != nullptr && thread.index != kNoThread) [[unlikely]] {
    observer_->OnSegmentBegin({thread.index, hook_id, time_ns});
  }
}

void SegmentBuilder::NoteTurn(SegmentStack& stack, const EventRecord& record) {
  if (!HasThreadDump(record) || record.mmcr == stack.mmcr) return;
  stack.mmcr = record.mmcr;
  ++stack.turn;
}

void SegmentBuilder::PushDumps(ThreadState& thread, const EventRecord& record) {
  std::vector<std::uint64_t>& dumps = thread.stack.dumps;
  if (events_ != 0) {
    if (HasThreadDump(record)) {
      NoteTurn(thread.stack, record);
      dumps.push_back((std::uint64_t{thread.stack.turn} << 32) |
                      record.present);
      dumps.insert(dumps.end(), record.counters, record.counters + events_);
    } else {
      dumps.resize(dumps.size() + 1 + events_, 0);
    }
  }
  if (kernel_events_ != 0) {
    // What is counted in turns stands still in the others.
    dumps.push_back(HasKernelDump(record) ? record.present | rotating_.kernel
                                          : 0);
    dumps.insert(dumps.end(), thread.counts.begin(), thread.counts.end());
    dumps.resize(dumps.size() + kernel_events_ - thread.counts.size(), 0);
  }
}

void SegmentBuilder::Exit(ThreadState& thread, std::uint32_t hook_id,
                          const EventRecord& record, std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  if (stack.too_deep == 0 && !stack.frames.empty() &&
      stack.frames.back().hook_id == hook_id) [[likely]] {
    Close(thread, &record, time_ns);
    return;
  }
  ExitOutOfOrder(thread, hook_id, record, time_ns);
}

void SegmentBuilder::ExitOutOfOrder(ThreadState& thread, std::uint32_t hook_id,
                                    const EventRecord& record,
                                    std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  if (stack.too_deep != 0) {
    --stack.too_deep;
    return;
  }
  const auto match = std::find_if(
      stack.frames.rbegin(), stack.frames.rend(),
      [&](const Frame& frame) { return frame.hook_id == hook_id; });
  if (match != stack.frames.rend()) {
    const auto inner = match - stack.frames.rbegin();
    for (auto i = inner; i > 0; --i) Close(thread, nullptr, time_ns);
    Close(thread, &record, time_ns);
    return;
  }
  PathNode* node = paths_.Child(Top(thread), hook_id);
  ++node->begin_inferred;
  if (observer_ != nullptr && thread.index != kNoThread) {
    const std::uint64_t begin_ns =
        thread.last_hook_ns != 0 ? thread.last_hook_ns : thread.first_seen_ns;
    observer_->OnSegment({thread.index, hook_id,
                          static_cast<std::uint32_t>(stack.frames.size()),
                          std::min(begin_ns, time_ns), time_ns, std::nullopt,
                          /*begin_inferred=*/true, /*end_inferred=*/false});
  }
}

bool SegmentBuilder::IsOnCpuExact(const ThreadState& thread, const Frame& frame,
                                  std::uint64_t time_ns) const {
  if (thread.stay == 0) return false;  // the kernel side never saw it run
  // Its fork came late, or never: when the call began we did not know that it
  // ran.
  if (frame.stay == 0 && thread.first_switch_in_ns < frame.begin_ns) {
    return false;
  }
  if (frame.unseen != thread.unseen_switches) return false;
  if (frame.begin_ns < coverage_.latest_begin_ns ||
      time_ns > coverage_.earliest_end_ns) {
    return false;
  }
  // One undisturbed stay: whatever was lost elsewhere, it ran all the time.
  const bool one_stay =
      frame.stay == thread.stay && thread.stay_sure && thread.running_cpu >= 0;
  return one_stay || (frame.loss_epoch == coverage_.loss_epoch &&
                      coverage_.lossy_cpus == 0);
}

void SegmentBuilder::AddDumps(const ThreadState& thread, PathNode& node,
                              const std::uint64_t* begin,
                              const EventRecord* record) const {
  const auto begin_present = static_cast<std::uint32_t>(begin[0]);
  const std::uint32_t turn = thread.stack.turn;
  // A turn that ended inside the call cut what its set counted: everything, if
  // the trace does not say which events were always on.
  const bool cut =
      begin_present != 0 && static_cast<std::uint32_t>(begin[0] >> 32) != turn;
  const bool dumped = record != nullptr && HasThreadDump(*record) &&
                      !(cut && rotating_.thread == 0);
  const std::uint32_t present = dumped ? begin_present & record->present : 0;
  for (std::size_t i = 0; i < events_; ++i) {
    DumpSum& sum = node.dumps[i];
    // Not present at both ends, or gone back: this call's value is unknown, so
    // that the sum over calls is a lower bound.
    const bool rotates = (rotating_.thread >> i & 1u) != 0;
    if (rotates && cut) {
      ++sum.cut_calls;
      continue;
    }
    // In another set's turn: one of the calls that are estimated.
    if (rotates && dumped && !(present >> i & 1u)) continue;
    if (!(present >> i & 1u) || record->counters[i] < begin[1 + i]) {
      sum.quality = Worse(sum.quality, Quality::kBounded);
      continue;
    }
    sum.incl += record->counters[i] - begin[1 + i];
    ++sum.calls_with_value;
    if (rotates) {
      sum.AddOfTurn(&thread, turn, 1, record->counters[i] - begin[1 + i]);
      sum.scaling = DumpSum::Scaling::kByCalls;
    }
    if ((begin_present | record->present) >> (16 + i) & 1u) {
      sum.quality = Worse(sum.quality, Quality::kScaled);
    }
  }
}

void SegmentBuilder::AddKernelDumps(const ThreadState& thread, PathNode& node,
                                    const std::uint64_t* begin,
                                    const EventRecord* record,
                                    bool exact) const {
  const bool dumped = record != nullptr && HasKernelDump(*record);
  const std::uint64_t present =
      dumped ? begin[0] & (record->present | rotating_.kernel) : 0;
  for (std::size_t i = 0; i < kernel_events_; ++i) {
    DumpSum& sum = node.dumps[events_ + i];
    if (!(present >> i & 1u)) {
      sum.quality = Worse(sum.quality, Quality::kBounded);
      continue;
    }
    const std::uint64_t count = thread.counts[i] - begin[1 + i];
    if (rotating_.kernel >> i & 1u && i < rotating_.kernel_running.size()) {
      const std::size_t at = rotating_.kernel_running[i];
      const std::uint64_t running = thread.counts[at] - begin[1 + at];
      if (running == 0) continue;
      sum.calls.Add(running, count);
      sum.scaling = DumpSum::Scaling::kByTime;
    }
    sum.incl += count;
    ++sum.calls_with_value;
    if (!exact) sum.quality = Worse(sum.quality, Quality::kBounded);
  }
}

void SegmentBuilder::Close(ThreadState& thread, const EventRecord* record,
                           std::uint64_t time_ns, bool end_known) {
  SegmentStack& stack = thread.stack;
  const Frame frame = stack.frames.back();
  const std::size_t depth = stack.frames.size() - 1;
  PathNode& node = *frame.node;
  const std::uint64_t wall_ns = SaturatingSubtract(time_ns, frame.begin_ns);
  const std::uint64_t on_cpu_ns = std::min(
      SaturatingSubtract(thread.OnCpuAt(time_ns), frame.on_cpu_ns), wall_ns);

  ++node.calls;
  if (record != nullptr && record->counters != nullptr) ++node.dumped_calls;
  const bool end_inferred = record == nullptr && !end_known;
  if (end_inferred) ++node.end_inferred;
  // A call folded into the node of the frame around it is already counted.
  const bool nested_fold =
      depth > 0 && stack.frames[depth - 1].node == frame.node;
  if (!nested_fold) [[likely]] {
    node.wall.Add(wall_ns);
    node.on_cpu_ns += on_cpu_ns;
    node.switches += thread.switches_out - frame.switches;
    node.faults += thread.faults - frame.faults;
    const bool exact = IsOnCpuExact(thread, frame, time_ns);
    if (!exact) node.on_cpu_quality = Quality::kBounded;
    std::uint64_t* const dumps = stack.dumps.data() + depth * frame_words_;
    if (depth < stack.doubted && frame_words_ != 0) [[unlikely]] {
      // As if they had not been there at its enter: this call's are unknown.
      for (std::size_t i = 0; i < events_; ++i) {
        if (!(stack.doubted_thread >> i & 1u)) continue;
        dumps[0] &= ~(std::uint64_t{1} << i);
        node.dumps[i].quality = Worse(node.dumps[i].quality, Quality::kBounded);
      }
      if (kernel_events_ != 0) {
        dumps[events_ != 0 ? 1 + events_ : 0] &=
            ~std::uint64_t{stack.doubted_kernel};
      }
    }
    if (events_ != 0) {
      if (record != nullptr) NoteTurn(stack, *record);
      AddDumps(thread, node, dumps, record);
    }
    if (kernel_events_ != 0) {
      AddKernelDumps(thread, node, dumps + (events_ != 0 ? 1 + events_ : 0),
                     record, exact);
    }
  }
  DropInnermost(thread);

  if (observer_ == nullptr) return;
  if (thread.index == kNoThread) {  // what interrupts do on a CPU
    observer_->OnInterrupt({static_cast<std::uint32_t>(thread.last_cpu),
                            frame.hook_id, static_cast<std::uint32_t>(depth),
                            frame.begin_ns, time_ns, end_inferred});
  } else {
    std::optional<std::uint64_t> known_on_cpu;
    if (thread.stay != 0) known_on_cpu = on_cpu_ns;
    observer_->OnSegment({thread.index, frame.hook_id,
                          static_cast<std::uint32_t>(depth), frame.begin_ns,
                          time_ns, known_on_cpu, /*begin_inferred=*/false,
                          end_inferred});
  }
}

void SegmentBuilder::DropInnermost(ThreadState& thread) {
  SegmentStack& stack = thread.stack;
  stack.frames.pop_back();
  const std::size_t depth = stack.frames.size();
  if (frame_words_ != 0) stack.dumps.resize(depth * frame_words_);
  if (stack.doubtful > depth) stack.doubtful = depth;
  if (stack.doubted > depth) [[unlikely]] {
    stack.doubted = depth;
    if (depth == 0) stack.doubted_thread = stack.doubted_kernel = 0;
  }
}

void SegmentBuilder::ResolveDoubt(ThreadState& thread, std::uint32_t hook_id,
                                  std::uint64_t time_ns) {
  const SegmentStack& stack = thread.stack;
  // Frames to keep; the last of them becomes the parent.
  std::size_t keep = stack.frames.size();
  while (keep > 0 &&
         paths_.FindChild(stack.frames[keep - 1].node, hook_id) == nullptr) {
    --keep;
  }
  if (keep == 0 &&
      paths_.FindChild(thread.process->paths, hook_id) == nullptr) {
    return;  // never seen anywhere here: a new path under the innermost frame
  }
  while (stack.frames.size() > keep) Close(thread, nullptr, time_ns);
}

void SegmentBuilder::OnLoss(ThreadState& thread) {
  thread.stack.doubtful = thread.stack.frames.size();
  thread.stack.too_deep = 0;
  ++thread.stack.turn;  // other sets may have had theirs
  thread.hooks_lost = true;
  if (thread.process != nullptr) thread.process->hooks_lost = true;
}

bool SegmentBuilder::IsOpen(const ThreadState& thread, std::uint32_t hook_id) {
  return std::any_of(
      thread.stack.frames.begin(), thread.stack.frames.end(),
      [hook_id](const Frame& frame) { return frame.hook_id == hook_id; });
}

void SegmentBuilder::CloseAll(ThreadState& thread, std::uint64_t time_ns,
                              bool ended) {
  while (!thread.stack.frames.empty()) {
    const std::uint32_t hook_id = thread.stack.frames.back().hook_id;
    Close(thread, nullptr, time_ns,
          ended && origins_[hook_id] == logformat::HookOrigin::kKernel);
  }
  thread.stack = SegmentStack();
}

void SegmentBuilder::LeaveKernel(ThreadState& thread, std::uint64_t time_ns) {
  const std::vector<Frame>& frames = thread.stack.frames;
  while (!frames.empty() &&
         origins_[frames.back().hook_id] == logformat::HookOrigin::kKernel) {
    Close(thread, nullptr, time_ns);
    thread.exit_expected = true;
  }
}

}  // namespace countrace::rmap
