#include "rmap/export/perfetto/sched_events.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "logformat/packet_layout.h"
#include "rmap/export/perfetto/track_events.h"

namespace countrace::rmap::perfetto {
namespace {

constexpr std::size_t kBundleBytes = 16 << 10;
// Perfetto refuses a trace with more.
constexpr std::uint32_t kMostCpus = 1024;
// Linux's tids are below that (PID_MAX_LIMIT).
constexpr std::int32_t kFirstOwnTid = (1 << 22) + 1;
// TRACE_FLAG_HARDIRQ of linux/trace_events.h
constexpr std::uint32_t kInInterrupt = 0x08;
// REPORT_TASK_IDLE of linux/sched.h: a sleep that is none of the others.
constexpr std::int64_t kOtherSleep = 0x80;
// No state of Linux 4.14 and later: Perfetto shows "?".
constexpr std::int64_t kNotKnown = 0x200;

Task NotCounted(std::uint32_t cpu) {
  return {kFirstOwnTid + 2 * static_cast<std::int32_t>(cpu), "[not counted]"};
}
Task NotRecorded(std::uint32_t cpu) {
  return {kFirstOwnTid + 2 * static_cast<std::int32_t>(cpu) + 1,
          "[not recorded]"};
}

}  // namespace

// As sched_switch has it in prev_state.
std::int64_t SchedEvents::RawState(const DispatchSpan& span) const {
  if (span.end_inferred) return kNotKnown;
  if (span.end_state == logformat::kSwitchOther) return kOtherSleep;
  // Preempted, or its quota was used up.
  if (span.end_state >= logformat::kSwitchPreempted) return preempted_;
  return span.end_state;
}

void SchedEvents::Dispatch(const DispatchSpan& span, const Task& task) {
  if (span.cpu >= kMostCpus) return;
  Cpu& cpu = cpus_[span.cpu];
  if (cpu.any && span.begin_ns > cpu.end_ns) {
    Switch(span.cpu, cpu, cpu.end_ns, NotRecorded(span.cpu));
    cpu.prev_state = 0;
  }
  Switch(span.cpu, cpu, std::max(span.begin_ns, cpu.end_ns),
         span.outside               ? NotCounted(span.cpu)
         : span.thread == kNoThread ? Task()
                                    : task);
  cpu.any = true;
  cpu.end_ns = std::max(span.end_ns, cpu.end_ns);
  cpu.prev_state = RawState(span);
}

void SchedEvents::Switch(std::uint32_t number, Cpu& cpu, std::uint64_t time_ns,
                         const Task& next) {
  const Task prev = std::exchange(cpu.task, next);
  {
    Message bundle(cpu.switches);
    Message event(bundle, kBundleEvent);
    event.add_uint64(kFtraceTime, time_ns);
    event.add_uint32(kFtracePid, static_cast<std::uint32_t>(prev.tid));
    Message change(event, kSchedSwitch);
    AddText(change, kPrevComm, prev.comm);
    change.add_int32(kPrevPid, prev.tid);
    change.add_int64(kPrevState, cpu.prev_state);
    AddText(change, kNextComm, next.comm);
    change.add_int32(kNextPid, next.tid);
  }
  if (cpu.switches.size() >= kBundleBytes) {
    Flush(number, cpu, kSwitches, cpu.switches);
  }
}

void SchedEvents::Waking(std::uint32_t number, std::uint64_t time_ns,
                         std::int32_t waker, const Task& wakee,
                         std::uint32_t target_cpu) {
  if (number >= kMostCpus) return;
  Cpu& cpu = cpus_[number];
  {
    Message bundle(cpu.wakings);
    Message event(bundle, kBundleEvent);
    event.add_uint64(kFtraceTime, time_ns);
    event.add_uint32(kFtracePid, static_cast<std::uint32_t>(waker));
    event.add_uint32(kCommonFlags, waker == 0 ? kInInterrupt : 0);
    Message waking(event, kSchedWaking);
    AddText(waking, kWakeeComm, wakee.comm);
    waking.add_int32(kWakeePid, wakee.tid);
    waking.add_int32(kTargetCpu, static_cast<std::int32_t>(target_cpu));
  }
  if (cpu.wakings.size() >= kBundleBytes) {
    Flush(number, cpu, kWakings, cpu.wakings);
  }
}

void SchedEvents::Flush(std::uint32_t number, Cpu& cpu, std::uint32_t sequence,
                        std::string& events) const {
  packets_.Add(sequence, 0, [&](Message& packet) {
    std::string bundle;
    Message head(bundle);
    head.add_uint32(kBundleCpu, number);
    if (std::exchange(cpu.lossy, false)) head.add_bool(kLostEvents, true);
    bundle += events;
    packet.add_message(kFtraceEvents, bundle);
  });
  events.clear();
}

void SchedEvents::Finish() {
  for (auto& [number, cpu] : cpus_) {
    if (cpu.any) Switch(number, cpu, cpu.end_ns, NotRecorded(number));
    if (!cpu.switches.empty() || cpu.lossy) {
      Flush(number, cpu, kSwitches, cpu.switches);
    }
    if (!cpu.wakings.empty()) Flush(number, cpu, kWakings, cpu.wakings);
  }
}

}  // namespace countrace::rmap::perfetto
