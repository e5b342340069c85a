// Intervals in which the count of a counter is uncertain, by event: for the
// books and for the messages.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_COUNTER_DOUBTS_H_
#define COUNTRACE_RMAP_COUNTERS_COUNTER_DOUBTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "logformat/counter_limit.h"

namespace countrace::rmap {

// Why a counter's delta may differ from the count.
enum class DoubtReason : std::uint8_t {
  kWrapped,   // it may have wrapped more than once: a lower bound
  kWentBack,  // set to another value, or used by another program: unknown
  kOtherMmcr  // of another event set, in a trace that does not list the sets
};
inline constexpr std::size_t kDoubtReasons = 3;

// An interval between two values of a counter.
struct DoubtedInterval {
  std::int32_t cpu = -1,
               tid = -1;  // the counter's CPU or thread; the other is -1
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t from = 0, to = 0;  // the two values, or MMCRs
  std::uint64_t ns() const { return end_ns - begin_ns; }
};

struct DoubtSum {
  std::uint64_t intervals = 0, ns = 0;
  DoubtedInterval longest;
};

class CounterDoubts {
 public:
  void Add(DoubtReason reason, std::size_t event,
           const DoubtedInterval& interval);
  DoubtSum Of(DoubtReason reason, std::size_t event) const {
    const auto& sums = sums_[static_cast<std::size_t>(reason)];
    return event < sums.size() ? sums[event] : DoubtSum();
  }
  bool any() const { return any_; }
  // One line for each event and reason: what, where, both numbers, remedy.
  std::vector<std::string> Messages(
      const std::vector<std::string>& events,
      const std::vector<logformat::CounterLimit>& limits) const;

 private:
  // By reason, then by event, as far as there are any.
  std::array<std::vector<DoubtSum>, kDoubtReasons> sums_;
  bool any_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_COUNTER_DOUBTS_H_
