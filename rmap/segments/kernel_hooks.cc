#include "rmap/segments/kernel_hooks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logformat/block_point.h"
#include "logformat/jump_hook.h"
#include "logformat/sample_points.h"
#include "logformat/system_call_exit.h"
#include "rmap/dispatch/kernel_layout.h"
#include "rmap/state/unseen_state.h"

namespace countrace::rmap {

using logformat::EventRecord;
using logformat::HookKind;
using logformat::HookOrigin;
using logformat::SamplePoint;

namespace {

// A hook of the runtime library itself (logformat/jump_hook.h).
bool IsOwn(const logformat::HookInfo& hook, const char* name,
           std::size_t values) {
  return hook.kind == HookKind::kPoint && hook.origin == HookOrigin::kProgram &&
         hook.provider == logformat::kJumpProvider && hook.name == name &&
         hook.payload == std::vector(values, logformat::PayloadType::kUnsigned);
}

}  // namespace

HookTable::HookTable(const logformat::TraceInfo& info)
    : kinds_(logformat::kHookIdMax + 1, HookKind::kSegment),
      origins_(logformat::kHookIdMax + 1, HookOrigin::kProgram),
      roles_(logformat::kHookIdMax + 1, 0) {
  for (const logformat::HookInfo& hook : info.hooks) {
    kinds_[hook.id] = hook.kind;
    origins_[hook.id] = hook.origin;
    if (IsOwn(hook, logformat::kJumpName, 1)) jumps_.jump = hook.id;
    if (IsOwn(hook, logformat::kStackName, 2)) jumps_.stack = hook.id;
    if (IsOwn(hook, logformat::kScopeName, 2)) jumps_.scope = hook.id;
    if (hook.origin == HookOrigin::kProgram) continue;
    if (const SamplePoint point = logformat::SamplePointOf(hook);
        point != SamplePoint::kNone) {
      roles_[hook.id] |=
          point == SamplePoint::kSample ? kSample : kDefinesSamples;
      if (hook.name == logformat::kOffCpuEvent) roles_[hook.id] |= kOffCpu;
      continue;
    }
    has_kernel_hooks_ = true;
    has_probes_ |=
        hook.origin == HookOrigin::kProbe && hook.kind == HookKind::kSegment;
    if (hook.probe_cost && hook.kind == HookKind::kPoint) {
      roles_[hook.id] |= kCostlyPoint;
    }
    if (hook.origin != HookOrigin::kKernel) continue;
    if (logformat::IsBlockPoint(hook)) roles_[hook.id] |= kBlockPoint;
    if (hook.provider == "fault") {
      roles_[hook.id] |= kFault;
      if (hook.name == "kernel") kernel_fault_ = hook.id;
    }
    if (!logformat::IsSystemCall(hook)) continue;
    roles_[hook.id] |= kSystemCall;
    if (logformat::MakesThread(hook.name)) roles_[hook.id] |= kMakesThread;
  }
  dump_bytes_ = logformat::CpuDumpBytes(info);
  if (has_kernel_hooks_) {
    kernel_events_ =
        std::min(EventSetDumps(info.cpu_sets()).measures(), kMaxMeasures);
  }
}

void KernelHooks::CountHit(ProcessState& process, std::uint32_t hook_id) const {
  if (paused()) return;
  const std::size_t index = hook_id - logformat::kHookIdKernelMin;
  std::vector<std::uint64_t>& hits = process.kernel_hook_hits;
  if (index >= hits.size()) hits.resize(index + 1, 0);
  ++hits[index];
}

void KernelHooks::CountBlockRequest(ProcessState& process,
                                    const EventRecord& record,
                                    std::uint32_t hook_id) const {
  if (paused()) return;
  const bool dump = (record.event_id & logformat::kEventDumpBit) != 0;
  const std::size_t at =
      sizeof(logformat::KernelHookRecord) + (dump ? hooks_.dump_bytes() : 0);
  std::uint64_t values[2] = {};  // sector, bytes
  if (record.bytes.size() < at + sizeof(values)) return;
  std::memcpy(values, record.bytes.data() + at, sizeof(values));
  const auto text = record.bytes.subspan(at + sizeof(values));
  const char* const device = reinterpret_cast<const char*>(text.data());
  BlockRequests& requests =
      process.block_requests[{hook_id, {device, strnlen(device, text.size())}}];
  ++requests.hits;
  requests.bytes = AddBounded(requests.bytes, values[1]);
}

void KernelHooks::EndInterrupts(std::int32_t cpu, std::uint64_t time_ns,
                                bool own) {
  ThreadState* work = dispatches_.InterruptWork(cpu);
  if (work == nullptr || work->stack.frames.empty()) return;
  // If nothing followed its enter, the innermost call is the recorder's own on
  // this CPU; an older one is a real interrupt whose exit was lost.
  if (own && work->stack.frames.back().begin_ns == work->hooks.last_ns) {
    segments_.DropInnermost(*work);
  }
  segments_.CloseAll(*work, time_ns);
}

void KernelHooks::LeaveInterrupts(std::int32_t cpu, std::uint64_t time_ns) {
  ThreadState* work = dispatches_.InterruptWork(cpu);
  if (work == nullptr || work->stack.frames.empty()) [[likely]]
    return;
  segments_.LeaveAll(*work, time_ns);
}

void KernelHooks::OnInterrupt(const EventRecord& record, std::uint32_t hook_id,
                              std::uint64_t time_ns) {
  const bool exit = (record.event_id & logformat::kEventExitBit) != 0;
  ThreadState* work = exit
                          ? dispatches_.LeaveInterrupt(record, hook_id, time_ns)
                          : dispatches_.EnterInterrupt(record, time_ns);
  if (work == nullptr) return;
  CountHit(*work->process, hook_id);
  SegmentBuilder::NoteHook(*work, time_ns);
  if (!exit) {
    segments_.Enter(*work, hook_id, DumpOf(record), time_ns);
    if (dispatches_.StateOf(record.cpu).interrupts_unknown_since_ns != 0)
        [[unlikely]] {
      SegmentBuilder::DoubtPlace(*work);
    }
  } else if (!work->stack.frames.empty()) {
    SegmentBuilder::TakeExpectedExit(*work);
    if (SegmentBuilder::IsOpen(*work, hook_id)) {
      segments_.Exit(*work, hook_id, DumpOf(record), time_ns);
    } else if (work->dispatch.running_cpu < 0 &&
               dispatches_.StateOf(record.cpu).interrupts_unknown_since_ns ==
                   0) {
      // It was open when the tables began, around those that are open now.
      segments_.LeaveAll(*work, time_ns);
    }
  } else if (!SegmentBuilder::TakeExpectedExit(*work)) {
    segments_.Exit(*work, hook_id, DumpOf(record), time_ns);
  }
}

void KernelHooks::OnRecord(const EventRecord& record,
                           const logformat::KernelHookRecord& hook,
                           std::uint64_t time_ns) {
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  if (hooks_.origins()[hook_id] == HookOrigin::kInterrupt) {
    OnInterrupt(record, hook_id, time_ns);
    return;
  }
  if (calls_left_out_ && hooks_.IsCall(hook_id)) return;
  const auto [tid, pid, syscall] = TidsOf(hook.ids);
  if (hooks_.IsOffCpu(hook_id)) {
    ThreadState& thread = registry_.Observe({pid, tid}, time_ns);
    if (!registry_.Counts(thread)) return;
    CountHit(*thread.process, hook_id);
    dispatches_.OnOffCpuStack(thread, AddSample(thread, record));
    return;
  }
  dispatches_.SeeOn(record.cpu, tid);
  if (record.counters != nullptr) dispatches_.OnDump(record, tid, time_ns);
  if (tid == 0) {  // a tracepoint on an idle CPU
    CountHit(registry_.interrupts(), hook_id);
    if (values_ != nullptr) {
      const std::uint32_t value = values_->Enter(record, hook_id, {});
      if (!paused()) {
        values_->CountHit(hook_id, value, registry_.interrupts());
      }
    }
    if (hooks_.IsBlockPoint(hook_id)) {
      CountBlockRequest(registry_.interrupts(), record, hook_id);
    }
    return;
  }
  ThreadState* running = dispatches_.Running(record.cpu);
  ThreadState& thread =
      running != nullptr && running->tid == tid && running->process != nullptr
          ? *running
          : registry_.Observe({pid, tid}, time_ns);
  if (!registry_.Counts(thread)) return;
  dispatches_.SeeRunning(thread, time_ns);
  if (hooks_.IsSample(hook_id)) {
    CountHit(*thread.process, hook_id);
    AddSample(thread, record);
    ThreadRegistry::See(thread, time_ns);
    return;
  }
  if ((record.event_id & logformat::kEventExitBit) != 0 &&
      syscall == logformat::kUnnamedSystemCall &&
      hooks_.IsSystemCall(hook_id)) {
    OnUnnamedExit(thread, record, time_ns);
  } else {
    CountHit(*thread.process, hook_id);
    if (hooks_.IsBlockPoint(hook_id)) [[unlikely]] {
      CountBlockRequest(*thread.process, record, hook_id);
    }
    const std::uint32_t value =
        values_ == nullptr ? 0 : TakeValue(thread, record, hook_id);
    OnThreadHook(thread, record, hook_id, value, time_ns);
  }
  ThreadRegistry::See(thread, time_ns);
  SegmentBuilder::NoteHook(thread, time_ns);
}

std::uint32_t KernelHooks::TakeValue(const ThreadState& thread,
                                     const EventRecord& record,
                                     std::uint32_t hook_id) const {
  const CallTask task = {thread.process->pid, thread.tid, &thread};
  std::uint32_t value = ValueTable::kNone;
  if ((record.event_id & logformat::kEventExitBit) == 0) {
    value = values_->Enter(record, hook_id, task);
  } else {
    value = values_->Exit(record, hook_id, thread.stack.Find(hook_id), task,
                          dispatches_.coverage().range_begin_ns);
  }
  if (!paused()) values_->CountHit(hook_id, value, *thread.process);
  return value;
}

void KernelHooks::OnUnnamedExit(ThreadState& thread, const EventRecord& record,
                                std::uint64_t time_ns) {
  SegmentBuilder::TakeExpectedExit(thread);
  segments_.EndKernelDoubt(thread, time_ns);
  const std::vector<Frame>& frames = thread.stack.frames;
  const auto open =
      std::find_if(frames.rbegin(), frames.rend(), [this](const Frame& frame) {
        return hooks_.IsSystemCall(frame.hook_id);
      });
  // None: the call began before the recording, or in the thread's parent.
  if (open == frames.rend()) return;
  const std::uint32_t hook_id = open->hook_id;
  CountHit(*thread.process, hook_id);
  segments_.Exit(thread, hook_id, DumpOf(record), time_ns);
}

void KernelHooks::CountFailure(ThreadState& thread, const EventRecord& record,
                               std::uint32_t hook_id) const {
  if (!hooks_.IsSystemCall(hook_id)) return;
  const std::uint64_t error =
      -logformat::ReturnValueOf(record, hooks_.dump_bytes());
  if (error - 1 >= logformat::kMaxErrno) return;
  const Frame* const call = thread.stack.Find(hook_id);
  // It began before the recording, the tables' range, or a pause's end.
  if (call == nullptr || call->began_paused ||
      call->begin_ns < dispatches_.coverage().range_begin_ns) {
    return;
  }
  const int number = static_cast<int>(error);
  ++thread.process->failed_calls[{hook_id, number}];
  if (call->node->hook_id != hook_id) return;  // folded
  if (call->node->errors == nullptr) {
    call->node->errors = std::make_unique<std::map<int, std::uint64_t>>();
  }
  ++(*call->node->errors)[number];
}

std::uint32_t KernelHooks::AddSample(const ThreadState& thread,
                                     const EventRecord& record) const {
  if (samples_ == nullptr || paused()) return 0;
  SampleContext context;
  context.process = thread.process->index;
  context.thread = thread.index;
  const std::vector<Frame>& frames = thread.stack.frames;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const HookOrigin origin = hooks_.origins()[frame->hook_id];
    if (context.system_call == 0 && hooks_.IsSystemCall(frame->hook_id)) {
      context.system_call = frame->hook_id;
    } else if (origin == HookOrigin::kProgram || origin == HookOrigin::kProbe) {
      context.segment = frame->hook_id;
      break;
    }
  }
  return samples_->Add(record, context);
}

void KernelHooks::CountInPath(ThreadState& thread,
                              std::uint32_t hook_id) const {
  if (thread.stack.frames.empty() || paused()) return;
  PathNode& node = *thread.stack.frames.back().node;
  if (node.points == nullptr) {
    node.points = std::make_unique<std::map<std::uint32_t, std::uint64_t>>();
  }
  ++(*node.points)[hook_id];
}

void KernelHooks::OnThreadHook(ThreadState& thread, const EventRecord& record,
                               std::uint32_t hook_id, std::uint32_t value,
                               std::uint64_t time_ns) {
  if (hooks_.kind(hook_id) == HookKind::kPoint) {
    if (hooks_.IsCostlyPoint(hook_id)) CountInPath(thread, hook_id);
    if (observer_ != nullptr) {
      observer_->OnHook({thread.index, hook_id, time_ns, &record});
    }
    return;
  }
  const bool in_kernel = hooks_.origins()[hook_id] == HookOrigin::kKernel;
  // A fault can lie in a system call that was not recorded.
  const bool in_doubt = hooks_.IsFault(hook_id) &&
                        thread.unseen.stack_since_ns != UnseenState::kNever;
  const bool exit = (record.event_id & logformat::kEventExitBit) != 0;
  const bool began_in_doubt =
      in_doubt && thread.stack.TopHook() == hook_id &&
      thread.stack.frames.back().begin_ns > thread.unseen.stack_since_ns;
  if (!in_doubt || (exit && !began_in_doubt)) {
    segments_.EndKernelDoubt(thread, time_ns,
                             exit ? hook_id : SegmentBuilder::kNoHook);
    if (in_doubt) segments_.BeginKernelDoubt(thread, time_ns);
  }
  if (exit) {
    // A child may fault before it returns from its parent's system call, and
    // return on another CPU before the fork record.
    if (in_kernel && !SegmentBuilder::IsOpen(thread, hook_id) &&
        (SegmentBuilder::TakeExpectedExit(thread) ||
         (hooks_.MakesThread(hook_id) &&
          logformat::ReturnValueOf(record, hooks_.dump_bytes()) == 0))) {
      return;
    }
    if (in_kernel) CountFailure(thread, record, hook_id);
    if (hooks_.IsFault(hook_id) && thread.process != nullptr &&
        logformat::ReturnValueOf(record, hooks_.dump_bytes()) ==
            logformat::kMajorFault &&
        !paused()) {
      thread.process->faults.AddMajor(thread.last_fault);
    }
    segments_.Exit(thread, hook_id, DumpOf(record), time_ns);
    return;
  }
  const std::vector<Frame>& frames = thread.stack.frames;
  const bool fault = hooks_.IsFault(hook_id);
  if (!in_kernel || hooks_.IsSystemCall(hook_id)) {
    segments_.LeaveKernel(thread, time_ns);
    if (in_kernel) SegmentBuilder::ExpectExit(thread, false);
  } else if (fault && !frames.empty() &&
             hooks_.IsFault(frames.back().hook_id)) {
    // A failed fault has no end record, and faults do not nest.
    segments_.EndInnermost(thread, time_ns);
  }
  segments_.Enter(thread, hook_id, DumpOf(record), time_ns, value);
  if (in_doubt) [[unlikely]]
    SegmentBuilder::DoubtPlace(thread);
}

}  // namespace countrace::rmap
