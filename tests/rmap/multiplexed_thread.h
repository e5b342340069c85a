// A thread whose two event sets rotate at its hooks as the runtime rotates
// them, as records of a trace. Each hook dumps.
#ifndef COUNTRACE_TESTS_RMAP_MULTIPLEXED_THREAD_H_
#define COUNTRACE_TESTS_RMAP_MULTIPLEXED_THREAD_H_

#include <cstdint>

#include "logformat/packet_layout.h"
#include "runtime/inprocess/counters/thread_rotation.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

class MultiplexedThread {
 public:
  // Indexes of events: one always on, one in each set.
  static constexpr std::size_t kAlways = 0, kFirst = 1, kSecond = 2;

  // `trace`: null: none. `rotate_ns`: 0: at each outermost enter.
  MultiplexedThread(MemoryTrace* trace, std::uint64_t rotate_ns,
                    std::uint32_t seed)
      : trace_(trace) {
    if (trace != nullptr) {
      trace->mutable_info().thread_events = {"always", "first", "second"};
      trace->mutable_info().thread_set_sizes = {1, 1};
    }
    runtime::BeginRotation(rotation_, 2, rotate_ns, seed);
  }
  void Enter(std::uint32_t hook) { Hook(hook, /*exit=*/false); }
  void Exit(std::uint32_t hook) { Hook(hook, /*exit=*/true); }
  // It runs for `ns`, with `events` of every event.
  void Run(std::uint64_t ns, std::uint64_t events) {
    now_ns_ += ns;
    always_ += events;
    counted_[rotation_.set] += events;
  }
  std::uint32_t set() const { return rotation_.set; }
  // Number of the rotation, from 0 on.
  std::uint32_t turn() const { return number_; }

 private:
  static constexpr std::int32_t kTid = 100;

  void Hook(std::uint32_t hook, bool exit) {
    now_ns_ += 100;
    runtime::IsSetChange(rotation_, 2 * hook + (exit ? 1 : 0), now_ns_);
    if (rotation_.odd != (number_ % 2 != 0)) ++number_;
    if (trace_ == nullptr) return;
    const std::uint32_t odd = rotation_.odd ? logformat::kOddRotationBit : 0;
    trace_->HookRecord(
        now_ns_, {kTid, kTid, hook, exit},
        HookDump{
            rotation_.set, 0b11 | odd, {always_, counted_[rotation_.set]}});
  }

  MemoryTrace* trace_;
  runtime::ThreadRotation rotation_ = {};
  std::uint32_t number_ = 0;
  std::uint64_t now_ns_ = 1'000'000, always_ = 0, counted_[2] = {};
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_MULTIPLEXED_THREAD_H_
