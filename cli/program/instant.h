// An instant of a trace in the spellings of users, and in those of every verb.
#ifndef COUNTRACE_CLI_PROGRAM_INSTANT_H_
#define COUNTRACE_CLI_PROGRAM_INSTANT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/trace_reader.h"

namespace countrace::cli {

// What an instant is relative to. Times are on CLOCK_MONOTONIC.
struct TraceExtent {
  std::uint64_t begin_ns = 0;  // of the tables
  std::uint64_t duration_ns = 0;
  // Earlier than `begin_ns` if a flight recording overwrote its first records.
  std::uint64_t recording_begin_ns = 0;
  std::int64_t realtime_offset_ns = 0;
  std::vector<std::uint64_t> triggers_ns = {};  // as `info` lists them

  std::uint64_t end_ns() const { return begin_ns + duration_ns; }
  // The last trigger, if it came after the last record: a call that hangs has
  // none. Until then the end is how it was.
  std::uint64_t known_until_ns() const;
};

// The extent of an index or report that goes from `begin_ns` on, `duration_ns`
// long.
TraceExtent ExtentOf(const logformat::TraceInfo& info, std::uint64_t begin_ns,
                     std::uint64_t duration_ns);
// Before anything is read.
TraceExtent ExtentOf(const logformat::TraceReader& reader);

// `countrace help state instants` lists the spellings. Returns: ns since the
// beginning, at most the duration; INVALID_ARGUMENT for anything else, and for
// a text that means two instants of this trace; OUT_OF_RANGE for an instant
// outside it.
absl::StatusOr<std::uint64_t> ParseInstant(std::string_view text,
                                           const TraceExtent& extent);

// Of --window.
inline constexpr std::uint64_t kDefaultWindowNs = 10'000'000;

// A range of a trace, half-open, on CLOCK_MONOTONIC. The trace's end includes
// its last record.
struct TimeRange {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = ~std::uint64_t{0};
};
// Edges in the spellings of ParseInstant(); an empty text is no edge. An edge
// may lie outside the trace. Returns: INVALID_ARGUMENT as ParseInstant(), and
// if the range is empty; OUT_OF_RANGE if all of it is outside.
absl::StatusOr<TimeRange> ParseTimeRange(std::string_view from,
                                         std::string_view to,
                                         const TraceExtent& extent);

// `time_ns` since the beginning in the middle of `window_ns`, moved into the
// trace, and not longer than it. Also since the beginning.
TimeRange WindowAround(std::uint64_t time_ns, std::uint64_t window_ns,
                       std::uint64_t duration_ns);

// A range as options give it.
struct RangeOptions {
  std::string from, to;     // as ParseTimeRange()
  std::string at;           // else, the instant in the middle of `window_ns`
  std::string around = {};  // the same by another name
  std::uint64_t window_ns = kDefaultWindowNs;

  const std::string& middle() const { return at.empty() ? around : at; }
  bool given() const {
    return !from.empty() || !to.empty() || !middle().empty();
  }
};
absl::StatusOr<TimeRange> ParseRange(const RangeOptions& options,
                                     const TraceExtent& extent);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_INSTANT_H_
