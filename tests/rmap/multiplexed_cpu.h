// A CPU whose event sets rotate in the order that the recorder draws, as
// records of a trace. The caller says which thread runs, and what it counts.
#ifndef COUNTRACE_TESTS_RMAP_MULTIPLEXED_CPU_H_
#define COUNTRACE_TESTS_RMAP_MULTIPLEXED_CPU_H_

#include <cstdint>
#include <vector>

#include "runtime/recorder/events/rotation_schedule.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

class MultiplexedCpu {
 public:
  static constexpr std::uint64_t kRotateNs = 10'000'000;
  // Indexes of events: the first two are always on, then one event a set.
  static constexpr std::size_t kClock = 0, kAlways = 1, kFirst = 2;

  // `tid` runs first. Requires: one CPU for each trace.
  MultiplexedCpu(MemoryTrace& trace, std::size_t sets, std::uint32_t seed,
                 std::uint32_t tid);
  // The thread runs for `ns`, with `events` of every event but the clock.
  void Run(std::uint64_t ns, std::uint64_t events);
  void Switch(std::uint32_t to);
  // A switch whose record has no counters, as of a hidden thread.
  void SwitchUncounted(std::uint32_t to);
  // A switch to `to` that the kernel did not show, and the one from it to a
  // third thread, which it shows: who had the CPU before is not known.
  void SwitchHidden(std::uint32_t hidden, std::uint32_t to);
  // Ends the rotation, and begins the next one.
  void Rotate();
  void End();
  std::uint64_t now_ns() const { return now_ns_; }
  std::uint32_t set() const { return set_; }

 private:
  Counters Values() const;

  MemoryTrace& trace_;
  runtime::RotationSchedule schedule_;
  std::uint32_t tid_, set_;
  std::uint64_t now_ns_ = 1'000'000, always_ = 0;
  std::vector<std::uint64_t> counted_, running_ns_;  // by set
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_MULTIPLEXED_CPU_H_
