// Whether the records of a stream are on the recorder's clock: the head of each
// packet has the raw counter and CLOCK_MONOTONIC of one instant, as its process
// read them.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_RECORDER_CLOCK_H_
#define COUNTRACE_LOGFORMAT_REPAIR_RECORDER_CLOCK_H_

#include <cstdint>
#include <vector>

#include "logformat/read/packet_scanner.h"

namespace countrace::logformat {

// Read by the recorder at (nearly) the same instant.
struct ClockReading {
  std::uint64_t raw = 0;  // TSC, CNTVCT; 0: not usable as a clock
  std::uint64_t ns = 0;   // CLOCK_MONOTONIC
};
struct RecorderClock {
  ClockReading begin, end;  // of the recording; end.ns 0: not known
};

// How far the clock of `packets` is ahead of the recorder's in every one of
// them, ns, negative if it is behind; 0: by less than 1 ms, or not known.
std::int64_t ClockAheadNs(const std::vector<ScannedPacket>& packets,
                          const RecorderClock& clock);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_RECORDER_CLOCK_H_
