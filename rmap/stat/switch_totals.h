// How the threads of a report left their CPUs: by themselves, as they blocked
// or ended, or because another thread was to run.
//
//   dispatches --> SwitchTotals --> the numbers of `countrace stat`
//
// It also reports whether the counts of a CPU end before the recording does.
//
// The split is the kernel's own (nvcsw and nivcsw in /proc/PID/status): a
// thread that is still runnable when it leaves was switched involuntarily.
// Thread: one.
#ifndef COUNTRACE_RMAP_STAT_SWITCH_TOTALS_H_
#define COUNTRACE_RMAP_STAT_SWITCH_TOTALS_H_

#include <cstdint>
#include <map>
#include <set>

#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

class SwitchTotals final : public TimelineObserver {
 public:
  void OnDispatch(const DispatchSpan& span) override;
  void OnCounters(const CounterDump& dump) override;
  void OnLoss(const LossSpan& loss) override;

  std::uint64_t voluntary() const { return voluntary_; }
  std::uint64_t involuntary() const { return involuntary_; }
  // Part of them: a CPU quota was used up.
  std::uint64_t throttled() const { return throttled_; }
  // Dispatches whose end has no record; those that the end of the trace cut are
  // none. `end_ns`: Report::end_ns.
  std::uint64_t unknown(std::uint64_t end_ns) const;
  // Records of a CPU are lost, and no counters follow: of all numbers nothing
  // says how much more there was.
  bool end_is_lost() const { return !lossy_.empty(); }

 private:
  std::uint64_t voluntary_ = 0, involuntary_ = 0, throttled_ = 0, unknown_ = 0;
  std::map<std::uint32_t, std::uint64_t> last_unknown_ns_;  // by CPU
  std::set<std::int32_t> lossy_;  // CPUs without counters since a loss
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STAT_SWITCH_TOTALS_H_
