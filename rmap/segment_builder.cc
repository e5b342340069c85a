#include "rmap/segment_builder.h"

#include <algorithm>

namespace countrace::rmap {

using logformat::EventRecord;

namespace {

constexpr std::uint64_t SaturatingSubtract(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

constexpr std::uint64_t PackDumpWord(const EventRecord& record) {
  if (record.counters == nullptr) return 0;
  return (std::uint64_t{record.mmcr} << 32) | record.present;
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
  if (events_ != 0) {
    stack.dumps.push_back(PackDumpWord(record));
    if (record.counters != nullptr) {
      stack.dumps.insert(stack.dumps.end(), record.counters,
                         record.counters + events_);
    } else {
      stack.dumps.resize(stack.dumps.size() + events_, 0);
    }
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
  if (observer_ != nullptr) {
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

void SegmentBuilder::AddDumps(PathNode& node, const std::uint64_t* begin,
                              const EventRecord* record) const {
  const auto begin_present = static_cast<std::uint32_t>(begin[0]);
  const auto begin_mmcr = static_cast<std::uint32_t>(begin[0] >> 32);
  const bool dumped = record != nullptr && record->counters != nullptr &&
                      record->mmcr == begin_mmcr;
  const std::uint32_t present = dumped ? begin_present & record->present : 0;
  for (std::size_t i = 0; i < events_; ++i) {
    DumpSum& sum = node.dumps[i];
    // Not present at both ends, or gone back: this call's value is unknown, so
    // that the sum over calls is a lower bound.
    if (!(present >> i & 1u) || record->counters[i] < begin[1 + i]) {
      sum.quality = Worse(sum.quality, Quality::kBounded);
      continue;
    }
    sum.incl += record->counters[i] - begin[1 + i];
    ++sum.calls_with_value;
    if ((begin_present | record->present) >> (16 + i) & 1u) {
      sum.quality = Worse(sum.quality, Quality::kScaled);
    }
  }
}

void SegmentBuilder::Close(ThreadState& thread, const EventRecord* record,
                           std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  const Frame frame = stack.frames.back();
  const std::size_t depth = stack.frames.size() - 1;
  PathNode& node = *frame.node;
  const std::uint64_t wall_ns = SaturatingSubtract(time_ns, frame.begin_ns);
  const std::uint64_t on_cpu_ns = std::min(
      SaturatingSubtract(thread.OnCpuAt(time_ns), frame.on_cpu_ns), wall_ns);

  ++node.calls;
  if (record == nullptr) ++node.end_inferred;
  // A call folded into the node of the frame around it is already counted.
  const bool nested_fold =
      depth > 0 && stack.frames[depth - 1].node == frame.node;
  if (!nested_fold) [[likely]] {
    node.wall.Add(wall_ns);
    node.on_cpu_ns += on_cpu_ns;
    node.switches += thread.switches_out - frame.switches;
    node.faults += thread.faults - frame.faults;
    if (!IsOnCpuExact(thread, frame, time_ns)) {
      node.on_cpu_quality = Quality::kBounded;
    }
    if (events_ != 0) {
      AddDumps(node, &stack.dumps[depth * (1 + events_)], record);
    }
  }
  stack.frames.pop_back();
  if (events_ != 0) stack.dumps.resize(depth * (1 + events_));
  if (stack.doubtful > depth) stack.doubtful = depth;

  if (observer_ != nullptr) {
    std::optional<std::uint64_t> known_on_cpu;
    if (thread.stay != 0) known_on_cpu = on_cpu_ns;
    observer_->OnSegment({thread.index, frame.hook_id,
                          static_cast<std::uint32_t>(depth), frame.begin_ns,
                          time_ns, known_on_cpu, /*begin_inferred=*/false,
                          /*end_inferred=*/record == nullptr});
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
  thread.hooks_lost = true;
  if (thread.process != nullptr) thread.process->hooks_lost = true;
}

void SegmentBuilder::CloseAll(ThreadState& thread, std::uint64_t time_ns) {
  while (!thread.stack.frames.empty()) Close(thread, nullptr, time_ns);
  thread.stack = SegmentStack();
}

}  // namespace countrace::rmap
