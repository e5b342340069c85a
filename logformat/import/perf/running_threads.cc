#include "logformat/import/perf/running_threads.h"

#include <algorithm>

namespace countrace::importer::perf {

namespace {

// A CPU's number has 16 bits.
constexpr std::int32_t kMaxSlots = 0xffff;

}  // namespace

std::int32_t RunningThreads::CpuOf(const Sample& record) {
  if (record.cpu >= 0 && record.cpu <= kMaxSlots) return record.cpu;
  made_up_cpus_ = true;
  const auto found = slots_.find(record.tid);
  if (found != slots_.end()) return found->second;
  std::int32_t slot = 0;
  if (!free_slots_.empty()) {
    slot = *free_slots_.begin();
    free_slots_.erase(free_slots_.begin());
  } else {
    slot = std::min(next_slot_++, kMaxSlots);
  }
  slots_.emplace(record.tid, slot);
  return slot;
}

void RunningThreads::Seen(CpuBooks& cpu, std::uint64_t time_ns,
                          std::int32_t tid) {
  if (ignored_ || !by_thread_ || tid <= 0 || cpu.current == tid) return;
  In(cpu, time_ns, tid, -1);
}

void RunningThreads::In(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
                        std::int32_t prev_tid) {
  if (ignored_ || cpu.current == tid) return;
  if (by_thread_) {
    prev_tid = cpu.current >= 0 ? cpu.current : kElsewhere;
  } else if (prev_tid < 0) {
    return;
  }
  if (besides_samples_ && records_.set_counters() != 0) {
    // The counter values at this switch are not known.
    records_.SwitchIn(cpu, time_ns, prev_tid, tid);
    return;
  }
  records_.Switch(cpu, time_ns, prev_tid, tid, logformat::kSwitchRunnable);
}

void RunningThreads::Out(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
                         std::int32_t next_tid, bool preempted) {
  if (ignored_) return;
  if (by_thread_) {
    Seen(cpu, time_ns, tid);
    next_tid = kElsewhere;
  }
  if (next_tid < 0 || (besides_samples_ && cpu.current != tid)) return;
  // The record gives no further reason for leaving.
  records_.Switch(cpu, time_ns, tid, next_tid,
                  preempted ? logformat::kSwitchPreempted
                            : logformat::kSwitchInterruptible);
}

void RunningThreads::Gone(CpuBooks& cpu, std::uint64_t time_ns,
                          std::int32_t tid) {
  if (by_thread_ && !ignored_ && cpu.current == tid) {
    records_.Switch(cpu, time_ns, tid, kElsewhere, logformat::kSwitchDead);
  }
  const auto slot = slots_.find(tid);
  if (slot == slots_.end()) return;
  free_slots_.insert(slot->second);
  slots_.erase(slot);
}

}  // namespace countrace::importer::perf
