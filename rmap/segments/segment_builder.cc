#include "rmap/segments/segment_builder.h"

#include <algorithm>

namespace countrace::rmap {

using logformat::EventRecord;

namespace {

// The call began before the range of the tables, or in a pause: only its rest
// counts.
inline bool IsCut(const KernelCoverage& coverage, const Frame& frame) {
  return frame.begin_ns < coverage.range_begin_ns || frame.began_paused;
}

// Its fork record came late, or never: when the call began, the thread was not
// known to run.
inline bool BeganUnknown(const ThreadNow& now, const Frame& frame) {
  return frame.dispatch == 0 && now.first_switch_in_ns < frame.begin_ns;
}

// The time of a call that ends at `time_ns`, on its own stack.
inline std::uint64_t WallIn(const Frame& frame, std::uint64_t time_ns) {
  return Less(time_ns, frame.begin_ns + frame.away_ns);
}

// The on-CPU time of a call that ends at `time_ns`.
inline std::uint64_t OnCpuIn(const ThreadNow& now, const Frame& frame,
                             std::uint64_t time_ns) {
  std::uint64_t on_cpu_ns = Less(now.OnCpuAt(time_ns), frame.on_cpu_ns);
  if (BeganUnknown(now, frame)) [[unlikely]] {
    on_cpu_ns = Less(on_cpu_ns, frame.begin_ns - now.first_switch_in_ns);
  }
  return std::min(on_cpu_ns, WallIn(frame, time_ns));
}

// A change in the thread's dumps (EventSetDumps::Spread) begins a new rotation.
inline void NoteTurn(SegmentStack& stack, const HookDump& dump) {
  if (dump.of != HookDump::Of::kThread || dump.mmcr == stack.mmcr) return;
  stack.mmcr = dump.mmcr;
  ++stack.turn;
}

inline bool HasBit(const std::uint64_t* words, std::size_t i) {
  return (words[i / MeasureSet::kWordBits] >> (i % MeasureSet::kWordBits) &
          1u) != 0;
}

inline HookDump DumpOf(const logformat::ThreadRecord& record) {
  if ((record.event_id & logformat::kEventDumpBit) == 0) return {};
  const logformat::ThreadDump dump = record.dump();
  return {HookDump::Of::kThread, dump.mmcr, dump.present, record.counters()};
}

}  // namespace

HookDump DumpOf(const EventRecord& record) {
  if (record.counters == nullptr) return {};
  // The counters in a kernel hook's record are the CPU's.
  const auto of = record.stream_class == logformat::StreamClass::kThread
                      ? HookDump::Of::kThread
                      : HookDump::Of::kKernel;
  return {of, record.mmcr, record.present, record.counters};
}

ThreadNow NowOf(const ThreadState& thread, const KernelCoverage& coverage) {
  ThreadNow now;
  now.process = thread.process;
  now.on_cpu_ns = thread.dispatch.on_cpu_ns + thread.dispatch.unbooked_ns;
  now.on_cpu = thread.dispatch.running_cpu >= 0;
  if (now.on_cpu && !thread.dispatch.interrupted) {
    now.running_since_ns = thread.dispatch.switch_in_ns;
  }
  now.switches = thread.dispatch.switches_out;
  now.faults = thread.dispatch.faults;
  now.dispatch = thread.dispatch.serial;
  now.first_switch_in_ns = thread.dispatch.first_switch_in_ns;
  now.unseen_switches = thread.dispatch.unseen_switches;
  now.dispatch_sure = thread.dispatch.sure;
  now.coverage = &coverage;
  return now;
}

[[gnu::always_inline]] inline void SegmentBuilder::Push(
    ThreadState& thread, const ThreadNow& now, std::uint32_t hook_id,
    const HookDump& dump, std::uint64_t time_ns, std::uint32_t value) {
  SegmentStack& stack = thread.stack;
  if (stack.doubtful != 0 && stack.doubtful == stack.frames.size())
      [[unlikely]] {
    ResolveDoubt(thread, now, hook_id, time_ns);
  }
  if (stack.frames.size() >= kMaxDepth) [[unlikely]] {
    if (stack.too_deep++ == 0) stack.too_deep_since_ns = time_ns;
    if (now.coverage->paused) return;
    ++too_deep_;
    CountTooDeep(stack, *now.process->paths, hook_id);
    return;
  }
  PathNode* node =
      paths_.Child(Top(stack, now), CallPaths::KeyOf(hook_id, value));
  Frame& frame = stack.frames.emplace_back(
      node, time_ns, now.OnCpuAt(time_ns), now.switches, now.faults,
      now.dispatch, now.coverage->loss_epoch, now.unseen_switches, hook_id);
  frame.began_paused = now.coverage->paused;
  if (events_ != 0 && dump.of == HookDump::Of::kThread) {
    NoteTurn(stack, dump);
    frame.present = dump.present;
    frame.turn = stack.turn;
    frame.counters = dump.counters;
  }
  if (frame_words_ != 0) PushDumps(thread, dump);
  if (observer_ != nullptr && thread.index != kNoThread) [[unlikely]] {
    observer_->OnSegmentBegin(
        {thread.index, hook_id, time_ns,
         static_cast<std::uint32_t>(stack.frames.size() - 1)});
  }
}

void SegmentBuilder::PushDumps(ThreadState& thread, const HookDump& dump) {
  std::vector<std::uint64_t>& dumps = thread.stack.dumps;
  if (copied_ != 0) {
    if (dump.of == HookDump::Of::kThread) {
      dumps.insert(dumps.end(), dump.counters, dump.counters + copied_);
    } else {
      dumps.resize(dumps.size() + copied_, 0);
    }
  }
  if (kernel_events_ != 0) {
    // A multiplexed counter stands still in the other sets' rotations.
    const bool dumped = dump.of == HookDump::Of::kKernel;
    dumps.push_back(dumped ? dump.present | rotating_.kernel.word(0) : 0);
    for (std::size_t word = 1; word < present_words_; ++word) {
      dumps.push_back(dumped ? rotating_.kernel.word(word) : 0);
    }
    dumps.insert(dumps.end(), thread.kernel.counts.begin(),
                 thread.kernel.counts.end());
    dumps.resize(dumps.size() + kernel_events_ - thread.kernel.counts.size(),
                 0);
  }
}

void SegmentBuilder::ExitOutOfOrder(ThreadState& thread, const ThreadNow& now,
                                    std::uint32_t hook_id, const HookDump& dump,
                                    std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  const std::size_t depth = stack.frames.size();
  const std::size_t not_of =
      stack.exit_at != 0 && depth == stack.exit_at ? depth - stack.exit_of : 0;
  if (depth <= stack.exit_at) stack.exit_at = 0;
  if (stack.too_deep != 0) {
    --stack.too_deep;
    return;
  }
  const auto match = std::find_if(
      stack.frames.rbegin() + static_cast<std::ptrdiff_t>(not_of),
      stack.frames.rend(),
      [&](const Frame& frame) { return frame.hook_id == hook_id; });
  if (match != stack.frames.rend()) {
    const auto inner = match - stack.frames.rbegin();
    DoubtInnermost(thread, static_cast<std::size_t>(inner));
    for (auto i = inner; i > 0; --i) {
      NoteLeft(thread, now, time_ns);
      Close(thread, now, nullptr, time_ns);
    }
    Close(thread, now, &dump, time_ns);
    return;
  }
  if (EndLeft(thread, now, hook_id, time_ns)) return;
  if (now.coverage->paused) return;
  PathNode* node = paths_.Child(Top(stack, now), hook_id);
  ++node->begin_inferred;
  if (node->hook_id == PathNode::kFolded) {
    ++now.process->paths->Folded(hook_id).begin_inferred;
  }
  if (observer_ != nullptr && thread.index != kNoThread) {
    const std::uint64_t begin_ns =
        thread.hooks.last_ns != 0 ? thread.hooks.last_ns : thread.first_seen_ns;
    observer_->OnSegment({thread.index, hook_id,
                          static_cast<std::uint32_t>(stack.frames.size()),
                          std::min(begin_ns, time_ns), time_ns, std::nullopt,
                          /*begin_inferred=*/true, /*end_inferred=*/false});
  }
}

bool SegmentBuilder::IsUncovered(const ThreadNow& now, const Frame& frame,
                                 std::uint64_t time_ns) {
  if (now.dispatch == 0) return true;  // no kernel record shows that it ran
  if (BeganUnknown(now, frame)) return true;
  return (frame.begin_ns < now.coverage->latest_begin_ns &&
          now.coverage->range_begin_ns < now.coverage->latest_begin_ns) ||
         time_ns > now.coverage->earliest_end_ns;
}

bool SegmentBuilder::IsOnCpuExact(const ThreadNow& now, const Frame& frame,
                                  std::uint64_t time_ns) {
  if (IsUncovered(now, frame, time_ns)) return false;
  if (frame.unseen != now.unseen_switches) return false;
  // One undisturbed dispatch: it ran all the time, whatever was lost elsewhere.
  const bool one_dispatch =
      frame.dispatch == now.dispatch && now.dispatch_sure && now.on_cpu;
  return one_dispatch || (frame.loss_epoch == now.coverage->loss_epoch &&
                          now.coverage->lossy_cpus == 0);
}

void SegmentBuilder::AddDumps(const ThreadState& thread, const Frame& frame,
                              const std::uint64_t* begin,
                              const HookDump* end) const {
  const std::uint32_t turn = thread.stack.turn;
  // A rotation that ended inside the call cut what its set counted: all events,
  // if the trace does not list the events that are always counted.
  const bool cut = frame.present != 0 && frame.turn != turn;
  const bool dumped = end != nullptr && end->of == HookDump::Of::kThread &&
                      !(cut && rotating_.thread == 0);
  const std::uint32_t present = dumped ? frame.present & end->present : 0;
  for (std::size_t i = 0; i < events_; ++i) {
    DumpSum& sum = frame.node->dumps[i];
    // Absent at one end, or gone back: this call's value is unknown, so the sum
    // over calls is a lower bound.
    const bool rotates = (rotating_.thread >> i & 1u) != 0;
    if (rotates && cut) {
      ++sum.WriteSliced().cut_calls;
      continue;
    }
    // Another set was counted: this call is among the estimated ones.
    if (rotates && dumped && !(present >> i & 1u)) {
      if (IsCut(coverage_, frame)) {
        ++sum.WriteSliced().cut_calls;
      } else {
        sum.AddCall(thread.index, turn, rotating_.turns_in_round, std::nullopt);
      }
      continue;
    }
    if (!(present >> i & 1u) || end->counters[i] < begin[i]) {
      sum.quality = Worse(sum.quality, Quality::kBounded);
      continue;
    }
    sum.incl += end->counters[i] - begin[i];
    sum.any_value = true;
    if (rotates) {
      sum.AddCall(thread.index, turn, rotating_.turns_in_round,
                  end->counters[i] - begin[i]);
      sum.scaling = DumpSum::Scaling::kByCalls;
    }
    if ((frame.present | end->present) >> (16 + i) & 1u) {
      sum.quality = Worse(sum.quality, Quality::kScaled);
    }
  }
}

void SegmentBuilder::AddKernelDumps(const ThreadState& thread, PathNode& node,
                                    const std::uint64_t* begin,
                                    const HookDump* end, bool exact) const {
  const bool dumped = end != nullptr && end->of == HookDump::Of::kKernel;
  // Events that do not rotate are among the first 32.
  const MeasureSet at_end =
      dumped ? MeasureSet(end->present) | rotating_.kernel : MeasureSet();
  const bool any_at_begin =
      std::any_of(begin, begin + present_words_,
                  [](std::uint64_t word) { return word != 0; });
  const std::uint64_t* const counts = begin + present_words_;
  for (std::size_t i = 0; i < kernel_events_; ++i) {
    DumpSum& sum = node.dumps[events_ + i];
    const bool rotates = rotating_.kernel.Has(i);
    // Gone back: what the enter had counted was taken back meanwhile.
    const std::uint64_t end_count = thread.kernel.counts[i];
    if (!at_end.Has(i) || !HasBit(begin, i) || end_count < counts[i]) {
      // A part of the call's count is unknown: the others stand for it.
      if (dumped && rotates && any_at_begin) continue;
      sum.quality = Worse(sum.quality, Quality::kBounded);
      continue;
    }
    const std::uint64_t count = end_count - counts[i];
    if (rotates && i < rotating_.kernel_running.size()) {
      const std::size_t at = rotating_.kernel_running[i];
      const std::uint64_t running = thread.kernel.counts[at];
      if (running <= counts[at]) continue;
      sum.WriteSliced().slices.Add({running - counts[at], count});
      sum.scaling = DumpSum::Scaling::kByTime;
    }
    sum.incl += count;
    sum.any_value = true;
    if (!exact) sum.quality = Worse(sum.quality, Quality::kBounded);
  }
}

[[gnu::always_inline]] inline void SegmentBuilder::DropTop(
    SegmentStack& stack) const {
  stack.frames.pop_back();
  const std::size_t depth = stack.frames.size();
  if (frame_words_ != 0) stack.dumps.resize(depth * frame_words_);
  if (stack.doubtful > depth) stack.doubtful = depth;
  if (stack.doubted > depth) [[unlikely]] {
    stack.doubted = depth;
    if (depth == 0) {
      stack.doubted_thread = 0;
      stack.doubted_kernel = MeasureSet();
    }
  }
}

namespace {

// It may be none of this path's, in whole or in part.
void DoubtCall(const Frame& frame, const CallAmounts& amounts, bool cut,
               PathNode& node) {
  UnseenSums& unseen = node.unseen.Write();
  ++unseen.calls;
  unseen.fewer_calls += frame.doubtful && !cut ? 1 : 0;
  unseen.less_ns += amounts.wall_ns;
  unseen.events += amounts.switches + amounts.faults;
}

}  // namespace

[[gnu::always_inline]] inline void SegmentBuilder::CloseInnermost(
    ThreadState& thread, const ThreadNow& now, const HookDump* dump,
    std::uint64_t time_ns, bool end_known) {
  SegmentStack& stack = thread.stack;
  Frame& frame = stack.frames.back();
  const std::size_t depth = stack.frames.size() - 1;
  PathNode& node = *frame.node;
  std::uint64_t wall_ns = WallIn(frame, time_ns);
  std::uint64_t on_cpu_ns = OnCpuIn(now, frame, time_ns);
  const bool cut = IsCut(*now.coverage, frame);
  if (cut) [[unlikely]] {
    wall_ns = std::min(
        wall_ns, Less(time_ns, now.coverage->range_begin_ns + frame.away_ns));
    on_cpu_ns = std::min(on_cpu_ns, wall_ns);
  }

  const CallAmounts amounts{wall_ns, on_cpu_ns, now.switches - frame.switches,
                            now.faults - frame.faults};
  const bool end_inferred = dump == nullptr && !end_known;
  if (!cut) [[likely]] {
    ++node.calls;
    if (dump != nullptr && dump->counters != nullptr) ++node.dumped_calls;
    if (end_inferred) ++node.end_inferred;
  }
  // A call folded into the node of its parent frame is already counted.
  const bool nested_fold =
      depth > 0 && stack.frames[depth - 1].node == frame.node;
  if (!nested_fold) [[likely]] {
    if (!cut) [[likely]] {
      node.wall.Add(wall_ns);
    } else {
      node.cut_wall_ns += wall_ns;
    }
    node.on_cpu_ns += on_cpu_ns;
    node.switches += amounts.switches;
    node.faults += amounts.faults;
    const bool exact = IsOnCpuExact(now, frame, time_ns);
    if (!exact && (thread.index == kNoThread ||
                   IsUncovered(now, frame, time_ns))) [[unlikely]] {
      node.unseen.Write().on_cpu_ns += wall_ns - on_cpu_ns;
    }
    if (frame.doubtful || frame.left) [[unlikely]] {
      DoubtCall(frame, amounts, cut, node);
    }
    std::uint64_t* const dumps = stack.dumps.data() + depth * frame_words_;
    if (depth < stack.doubted) [[unlikely]] {
      // Treated as absent at the enter: this call's values are unknown.
      frame.present &= ~stack.doubted_thread;
      for (std::size_t i = 0; i < events_; ++i) {
        if (!(stack.doubted_thread >> i & 1u)) continue;
        node.dumps[i].quality = Worse(node.dumps[i].quality, Quality::kBounded);
      }
      for (std::size_t word = 0; word < present_words_; ++word) {
        dumps[copied_ + word] &= ~stack.doubted_kernel.word(word);
      }
    }
    // A pause holds all of it: it takes nothing from the others.
    const bool left_out =
        frame.began_paused && now.coverage->paused && wall_ns == 0;
    if (events_ != 0 && !left_out) {
      if (dump != nullptr) NoteTurn(stack, *dump);
      AddDumps(thread, frame, copied_ != 0 ? dumps : frame.counters, dump);
    }
    if (kernel_events_ != 0 && !left_out) {
      AddKernelDumps(thread, node, dumps + copied_, dump, exact);
    }
  }
  if (node.hook_id == PathNode::kFolded) [[unlikely]] {
    AddFolded(thread, now, frame,
              {amounts, end_inferred, IsOnCpuExact(now, frame, time_ns), cut});
  }
  if (observer_ != nullptr) [[unlikely]] {
    ObserveCall(thread, now, frame, dump, time_ns, end_known);
  }
  DropTop(stack);
}

void SegmentBuilder::ObserveCall(const ThreadState& thread,
                                 const ThreadNow& now, const Frame& frame,
                                 const HookDump* dump, std::uint64_t time_ns,
                                 bool end_known, bool is_left) {
  const auto depth =
      static_cast<std::size_t>(&frame - thread.stack.frames.data());
  const bool end_inferred = dump == nullptr && !end_known;
  if (thread.index == kNoThread) {  // what interrupts do on a CPU
    observer_->OnInterrupt(
        {static_cast<std::uint32_t>(thread.dispatch.last_cpu), frame.hook_id,
         static_cast<std::uint32_t>(depth), frame.begin_ns, time_ns,
         end_inferred});
    return;
  }
  const Frame part = PartOf(thread.stack, frame);
  SegmentSpan span = {thread.index,
                      frame.hook_id,
                      static_cast<std::uint32_t>(depth),
                      part.begin_ns,
                      time_ns,
                      std::nullopt,
                      /*begin_inferred=*/false,
                      end_inferred};
  span.is_left = is_left;
  if (now.dispatch != 0) {
    span.on_cpu_ns = OnCpuIn(now, part, time_ns);
  }
  if (call_counts_) AddCallCounts(thread, now, part, dump, span);
  observer_->OnSegment(span);
}

void SegmentBuilder::AddCallCounts(const ThreadState& thread,
                                   const ThreadNow& now, const Frame& frame,
                                   const HookDump* dump, SegmentSpan& span) {
  const SegmentStack& stack = thread.stack;
  const std::uint64_t* const begin =
      stack.dumps.data() + span.depth * frame_words_;
  observed_dumps_.assign(events_ + kernel_events_, std::nullopt);
  const std::uint64_t* const thread_begin =
      copied_ != 0 ? begin : frame.counters;
  if (dump != nullptr && dump->of == HookDump::Of::kThread) {
    // The same condition as in AddDumps().
    const bool cut = frame.present != 0 && frame.turn != stack.turn;
    const std::uint32_t present = frame.present & dump->present;
    for (std::size_t i = 0; i < events_; ++i) {
      const bool rotates = (rotating_.thread >> i & 1u) != 0;
      // A multiplexed counter's is an estimate.
      const bool scaled =
          ((frame.present | dump->present) >> (16 + i) & 1u) != 0;
      if (!(present >> i & 1u) || dump->counters[i] < thread_begin[i] ||
          (cut && (rotates || rotating_.thread == 0)) || scaled) {
        continue;
      }
      observed_dumps_[i] = dump->counters[i] - thread_begin[i];
    }
  }
  if (kernel_events_ != 0 && dump != nullptr &&
      dump->of == HookDump::Of::kKernel) {
    // As in AddKernelDumps(); multiplexed counts of one call are estimates.
    const std::uint64_t* const kernel_begin = begin + copied_;
    const std::uint64_t present =
        kernel_begin[0] & dump->present & ~rotating_.kernel.word(0);
    // Events that do not rotate are among the first 32.
    const std::size_t first_events = std::min<std::size_t>(kernel_events_, 32);
    for (std::size_t i = 0; i < first_events; ++i) {
      const std::uint64_t at_begin = kernel_begin[present_words_ + i];
      if (!(present >> i & 1u) || thread.kernel.counts[i] < at_begin) continue;
      observed_dumps_[events_ + i] = thread.kernel.counts[i] - at_begin;
    }
  }
  span.switches = now.switches - frame.switches;
  span.faults = now.faults - frame.faults;
  span.on_cpu_exact = IsOnCpuExact(now, frame, span.end_ns);
  span.dumps = observed_dumps_;
}

void SegmentBuilder::Close(ThreadState& thread, const ThreadNow& now,
                           const HookDump* dump, std::uint64_t time_ns,
                           bool end_known) {
  CloseInnermost(thread, now, dump, time_ns, end_known);
}

void SegmentBuilder::DropInnermost(ThreadState& thread) {
  DropTop(thread.stack);
}

[[gnu::always_inline]] inline void SegmentBuilder::Pop(ThreadState& thread,
                                                       const ThreadNow& now,
                                                       std::uint32_t hook_id,
                                                       const HookDump& dump,
                                                       std::uint64_t time_ns) {
  SegmentStack& stack = thread.stack;
  if ((stack.too_deep | stack.exit_at) == 0 && !stack.frames.empty() &&
      stack.frames.back().hook_id == hook_id) [[likely]] {
    CloseInnermost(thread, now, &dump, time_ns, /*end_known=*/false);
    return;
  }
  ExitOutOfOrder(thread, now, hook_id, dump, time_ns);
}

void SegmentBuilder::Enter(ThreadState& thread, std::uint32_t hook_id,
                           const HookDump& dump, std::uint64_t time_ns,
                           std::uint32_t value) {
  Push(thread, NowOf(thread, coverage_), hook_id,
       coverage_.paused ? HookDump() : dump, time_ns, value);
}

void SegmentBuilder::Exit(ThreadState& thread, std::uint32_t hook_id,
                          const HookDump& dump, std::uint64_t time_ns) {
  Pop(thread, NowOf(thread, coverage_), hook_id,
      coverage_.paused ? HookDump() : dump, time_ns);
}

void SegmentBuilder::Run(ThreadState& thread, const ThreadNow& now,
                         std::span<const logformat::ThreadRecord> records,
                         const std::vector<logformat::HookKind>& kinds) {
  for (const logformat::ThreadRecord& record : records) {
    const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
    if ((record.event_id & logformat::kEventExitBit) != 0) {
      Pop(thread, now, hook_id, DumpOf(record), record.time_ns);
    } else if (kinds[hook_id] == logformat::HookKind::kSegment) {
      Push(thread, now, hook_id, DumpOf(record), record.time_ns);
    } else {
      if (jumps_.Have(hook_id)) [[unlikely]] {
        const std::span bytes(record.at, record.bytes);
        Jump(thread, now, hook_id, bytes.subspan(record.head_bytes),
             DumpOf(record), record.time_ns);
      }
      if (observer_ != nullptr) [[unlikely]] {
        observer_->OnHook({thread.index, hook_id, record.time_ns});
      }
    }
    // Where a call begins that has no enter.
    if (observer_ != nullptr) [[unlikely]]
      NoteHook(thread, record.time_ns);
  }
}

void SegmentBuilder::ResolveDoubt(ThreadState& thread, const ThreadNow& now,
                                  std::uint32_t hook_id,
                                  std::uint64_t time_ns) {
  const SegmentStack& stack = thread.stack;
  // Number of frames to keep; the last of them becomes the parent.
  std::size_t keep = stack.frames.size();
  while (keep > 0 &&
         paths_.FindChild(stack.frames[keep - 1].node, hook_id) == nullptr) {
    --keep;
  }
  if (keep == 0 && paths_.FindChild(now.process->paths, hook_id) == nullptr) {
    return;  // new in this process: a new path under the innermost frame
  }
  while (stack.frames.size() > keep) {
    NoteLeft(thread, now, time_ns);
    Close(thread, now, nullptr, time_ns);
  }
}

void SegmentBuilder::OnLoss(ThreadState& thread) {
  const auto doubt = [](SegmentStack& stack) {
    stack.doubtful = stack.frames.size();
    stack.too_deep = stack.exit_at = 0;
  };
  doubt(thread.stack);
  ++thread.stack.turn;  // other sets may have been counted meanwhile
  thread.stacks.current = 0;
  thread.stacks.jump_follows = false;
  for (auto& [number, stack] : thread.stacks.left) doubt(stack);
}

bool SegmentBuilder::IsOpen(const ThreadState& thread, std::uint32_t hook_id) {
  return std::any_of(
      thread.stack.frames.begin(), thread.stack.frames.end(),
      [hook_id](const Frame& frame) { return frame.hook_id == hook_id; });
}

void SegmentBuilder::CloseAll(ThreadState& thread, std::uint64_t time_ns,
                              bool ended) {
  CloseAll(thread, NowOf(thread, coverage_), time_ns, ended);
}

void SegmentBuilder::CloseAll(ThreadState& thread, const ThreadNow& now,
                              std::uint64_t time_ns, bool ended) {
  DoubtRecursion(thread);
  while (!thread.stack.frames.empty()) {
    const std::uint32_t hook_id = thread.stack.frames.back().hook_id;
    const bool failed = ended && hook_id == kernel_fault_;
    if (failed) DoubtInnermost(thread, 1);
    Close(thread, now, nullptr, time_ns,
          ended && !failed &&
              origins_[hook_id] == logformat::HookOrigin::kKernel);
  }
  thread.stack = SegmentStack();
  thread.stacks.current = 0;
  if (!thread.stacks.left.empty()) [[unlikely]]
    CloseLeft(thread, now, time_ns);
}

void SegmentBuilder::LeaveKernel(ThreadState& thread, std::uint64_t time_ns) {
  const std::vector<Frame>& frames = thread.stack.frames;
  const auto outer =
      std::find_if(frames.rbegin(), frames.rend(), [this](const Frame& frame) {
        return origins_[frame.hook_id] != logformat::HookOrigin::kKernel;
      });
  const auto calls = static_cast<std::size_t>(outer - frames.rbegin());
  if (calls == 0) return;
  DoubtInnermost(thread, calls);
  const ThreadNow now = NowOf(thread, coverage_);
  for (std::size_t i = 0; i < calls; ++i) Close(thread, now, nullptr, time_ns);
  ExpectExit(thread);
}

}  // namespace countrace::rmap
