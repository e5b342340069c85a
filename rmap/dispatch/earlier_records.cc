// The part of DispatchTracker for what comes before the tables: records of a
// few CPUs, while those of others were overwritten. Only the thread that runs
// at the end of it is kept of each CPU, and its last counter values.
#include <algorithm>

#include "logformat/running_thread.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/dispatch/kernel_layout.h"

namespace countrace::rmap {

using logformat::CpuEvent;
using logformat::EventRecord;

void DispatchTracker::OnEarlier(const EventRecord& record, bool interrupt) {
  CpuState* cpu = Cpu(record.cpu);
  if (cpu == nullptr) return;
  if (interrupt) {
    if ((record.event_id & logformat::kEventExitBit) == 0) {
      ++cpu->earlier_interrupts;
    } else if (cpu->earlier_interrupts != 0) {
      --cpu->earlier_interrupts;
    }
    return;
  }
  const auto tid = logformat::RunningTid(info_, record.event_id, record.bytes);
  if (tid) cpu->earlier_tid = *tid;
  const auto event = static_cast<CpuEvent>(record.event_id);
  if (event == CpuEvent::kSwitchIn || event == CpuEvent::kDispatch) {
    ++cpu->counters.switches_before;
  }
  if (const auto tids = TidsOf(record); event == CpuEvent::kDispatch && tids) {
    cpu->earlier_interrupts = 0;
    ThreadState* const left = registry_.Find(tids->first);
    if (left != nullptr && (tids->state & logformat::kSwitchDead) != 0) {
      registry_.Retire(*left);
    }
  } else if (event != CpuEvent::kCounters) {
    return;
  }
  if (record.counters == nullptr) return;
  std::copy_n(record.counters, events_, cpu->counters.before.begin());
  cpu->counters.before_present = dumps_.PresentIn(record);
  cpu->counters.switches_before = IsSwitch(record) ? 1 : 0;
}

void DispatchTracker::OnEarlierLoss(std::int32_t index) {
  CpuState* cpu = Cpu(index);
  if (cpu == nullptr) return;
  cpu->earlier_tid = -1;
  cpu->earlier_interrupts = 0;
  cpu->counters.before_present = MeasureSet();
}

void DispatchTracker::BeginTables(std::uint64_t time_ns) {
  begin_of_trace_ns_ = time_ns;
  begun_inside_ = true;
  // A process of the command may have been forked meanwhile.
  if (registry_.gate().records_marked_only()) NoteLoss(time_ns);
  for (CpuState& cpu : cpus_) {
    cpu.counters.doubted = MeasureSet();
    if (cpu.earlier_tid >= 0) BeginInside(cpu, time_ns);
  }
}

void DispatchTracker::BeginInside(CpuState& cpu, std::uint64_t time_ns) {
  cpu.begin_ns = cpu.last_ns = cpu.seen_ns = time_ns;
  coverage_.any = true;
  coverage_.latest_begin_ns = std::max(coverage_.latest_begin_ns, time_ns);
  cpu.counters.cut = cpu.counters.dispatch_cut = true;
  Occupy(cpu, cpu.earlier_tid, time_ns, /*inferred=*/true);
  if (cpu.earlier_interrupts == 0) return;
  cpu.open_interrupts = cpu.earlier_interrupts;
  cpu.interrupts_since_ns = time_ns;
  cpu.interrupts_counted = true;
  if (cpu.thread() != nullptr) cpu.thread()->dispatch.interrupted = true;
  ThreadState& work = cpu.interrupt_work;
  work.dispatch.running_cpu = static_cast<std::int32_t>(cpu.cpu);
  work.dispatch.switch_in_ns = time_ns;
  work.dispatch.sure = true;
  ++work.dispatch.serial;
}

}  // namespace countrace::rmap
