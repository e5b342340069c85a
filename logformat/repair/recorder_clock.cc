#include "logformat/repair/recorder_clock.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace countrace::logformat {
namespace {

constexpr std::int64_t kMostAheadNs = 1'000'000;
// The kernel slews CLOCK_MONOTONIC against the raw counter by at most one part
// in 2,000, faster or slower than over the whole recording: both together.
constexpr std::int64_t kSlew = 1000;

// The recorder's time when its raw counter was `raw`.
std::int64_t TimeOf(std::uint64_t raw, const RecorderClock& clock) {
  const auto ticks = static_cast<std::int64_t>(raw - clock.begin.raw);
  const auto all_ticks =
      static_cast<std::int64_t>(clock.end.raw - clock.begin.raw);
  const auto all_ns = static_cast<std::int64_t>(clock.end.ns - clock.begin.ns);
  return static_cast<std::int64_t>(clock.begin.ns) +
         static_cast<std::int64_t>(static_cast<__int128>(ticks) * all_ns /
                                   all_ticks);
}

std::int64_t AheadNs(const PacketHead& head, const RecorderClock& clock) {
  const auto begin = static_cast<std::int64_t>(clock.begin.ns);
  const auto end = static_cast<std::int64_t>(clock.end.ns);
  const auto ns = static_cast<std::int64_t>(head.monotonic_begin);
  // Outside of these, the counter began anew while the machine was suspended.
  if (clock.end.raw > clock.begin.raw && head.raw_begin >= clock.begin.raw &&
      head.raw_begin <= clock.end.raw) {
    const std::int64_t there = TimeOf(head.raw_begin, clock);
    const std::int64_t slewed = std::min(there - begin, end - there) / kSlew;
    const std::int64_t ahead = ns - there;
    return std::abs(ahead) > kMostAheadNs + slewed ? ahead : 0;
  }
  if (ns < begin - kMostAheadNs) return ns - begin;
  return ns > end + kMostAheadNs ? ns - end : 0;
}

}  // namespace

std::int64_t ClockAheadNs(const std::vector<ScannedPacket>& packets,
                          const RecorderClock& clock) {
  if (clock.end.ns <= clock.begin.ns) return 0;
  std::int64_t least = 0;
  for (const ScannedPacket& packet : packets) {
    // Closed by recover, or in the place of overwritten ones: not its pair.
    if (packet.head.monotonic_begin == 0) continue;
    const std::int64_t ahead = AheadNs(packet.head, clock);
    if (ahead == 0) return 0;
    if (least == 0 || std::abs(ahead) < std::abs(least)) least = ahead;
  }
  return least;
}

}  // namespace countrace::logformat
