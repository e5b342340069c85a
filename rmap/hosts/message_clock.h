// The offset and drift of a clock from messages that went both ways: a message
// is received after it was sent, so each one is a limit.
//
// Two unknowns and linear limits: those that matter are on the convex hulls of
// the limits from below and from above, and what they allow is a polygon (A.
// Duda et al., "Estimating global time in distributed systems", 1987). Its
// corners hold the truth whatever the messages' delays were. Thread: any.
#ifndef COUNTRACE_RMAP_HOSTS_MESSAGE_CLOCK_H_
#define COUNTRACE_RMAP_HOSTS_MESSAGE_CLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/hosts/host_clock.h"

namespace countrace::rmap {

// Something happened at `own_ns` here, and after (`is_after`) or before
// something that happened elsewhere: there at `common_ns`, as its clock was
// chosen, for certain between `least` and `most`.
struct ClockLimit {
  std::uint64_t own_ns = 0;
  bool is_after = false;
  std::uint64_t common_ns = 0, least_common_ns = 0, most_common_ns = 0;
};

// Two clocks differ by at most this: each of them is right within 500 ppm,
// where NTP gives up.
inline constexpr double kMostDrift = 1e-3;

// `uneven_ns`: the clocks may be so far from a line. Errors:
// FAILED_PRECONDITION: no limit on one side; or no line fits all.
absl::StatusOr<HostClock> ClockOfMessages(const std::string& how,
                                          const std::vector<ClockLimit>& limits,
                                          double uneven_ns = 0);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MESSAGE_CLOCK_H_
