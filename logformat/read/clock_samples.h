// What the clocks of the recorder's machine were: samples at the begin of the
// recording, at its end, and every 10 s (FORMAT.md, section 4.9).
//
// In: the stream `clock` of a trace, and no other. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_READ_CLOCK_SAMPLES_H_
#define COUNTRACE_LOGFORMAT_READ_CLOCK_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/event_schema.h"
#include "logformat/read/trace_reader.h"

namespace countrace::logformat {

// The clocks of the recorder's machine, read between two readings of
// CLOCK_MONOTONIC, in whose middle the record's time is; then adjtimex(2).
struct ClockRecord {  // event `clock_sample`
  std::uint64_t header;
  std::uint64_t width_ns;  // between the two readings
  std::uint64_t realtime_ns;
  std::uint64_t tai_ns;
  std::uint64_t raw;           // TSC, CNTVCT; 0: not usable as a clock
  std::int64_t offset_ns;      // that the kernel still corrects
  std::int64_t frequency;      // correction, 2^-16 ppm
  std::uint64_t max_error_us;  // bound of CLOCK_REALTIME's error
  std::uint64_t estimated_error_us;
  std::uint32_t status;  // STA_... bits
  std::int32_t state;    // TIME_OK (0) to TIME_ERROR (5); -1: adjtimex failed,
                         // and what is of it is 0
};
static_assert(sizeof(ClockRecord) == 80, "FORMAT.md section 4.9");

// With the time of the record, which is on the trace's clock.
struct ClockSample : ClockRecord {
  std::uint64_t monotonic_ns = 0;

  // A program keeps CLOCK_REALTIME right (NTP, PTP), to `max_error_us`.
  bool synchronised() const;
  std::int64_t realtime_offset_ns() const {  // within width_ns / 2
    return static_cast<std::int64_t>(realtime_ns - monotonic_ns);
  }
};

struct ClockSamples {
  std::vector<ClockSample> samples;  // by monotonic_ns
  // What could not be read or stored. Empty: these are all that were taken.
  std::vector<std::string> damage;
};

// The trace may be unfinished. No samples: the trace has none, or the stream is
// gone, as TraceReader::messages() says. Returns: errors of opening the file.
absl::StatusOr<ClockSamples> ReadClockSamples(const TraceReader& trace);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_CLOCK_SAMPLES_H_
