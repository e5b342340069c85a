#include "tests/rmap/multiplexed_cpu.h"

#include <string>

namespace countrace::test_support {

using logformat::CountersReason;

MultiplexedCpu::MultiplexedCpu(MemoryTrace& trace, std::size_t sets,
                               std::uint32_t seed, std::uint32_t tid)
    : trace_(trace),
      schedule_(sets, kRotateNs, seed),
      tid_(tid),
      set_(schedule_.Next(0)),
      counted_(sets),
      running_ns_(sets) {
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.begin_ns = now_ns_;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "always"};
  for (std::size_t set = 0; set < sets; ++set) {
    info.cpu_events.push_back("event-" + std::to_string(set));
  }
  info.cpu_set_sizes.assign(sets, 1);
  trace_.SetEventSet(0, set_);
  trace_.Dump(now_ns_, 0, CountersReason::kBegin, tid_, Values());
}

Counters MultiplexedCpu::Values() const {
  return {now_ns_, always_, counted_[set_], running_ns_[set_]};
}

void MultiplexedCpu::Run(std::uint64_t ns, std::uint64_t events) {
  now_ns_ += ns;
  always_ += events;
  counted_[set_] += events;
  running_ns_[set_] += ns;
}

void MultiplexedCpu::Switch(std::uint32_t to) {
  trace_.Dispatch(now_ns_, 0, tid_, to, logformat::kSwitchRunnable, Values());
  tid_ = to;
}

void MultiplexedCpu::SwitchUncounted(std::uint32_t to) {
  trace_.SwitchIn(now_ns_, 0, tid_, to);
  tid_ = to;
}

void MultiplexedCpu::SwitchHidden(std::uint32_t hidden, std::uint32_t to) {
  tid_ = hidden;
  Switch(to);
}

void MultiplexedCpu::Rotate() {
  trace_.Dump(now_ns_, 0, CountersReason::kSetEnd, tid_, Values());
  set_ = schedule_.Next(0);
  trace_.SetEventSet(0, set_);
  trace_.Dump(now_ns_, 0, CountersReason::kSetBegin, tid_, Values());
}

void MultiplexedCpu::End() {
  trace_.Dump(now_ns_, 0, CountersReason::kEnd, tid_, Values());
}

}  // namespace countrace::test_support
