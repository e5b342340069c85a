#include "logformat/import/perf/clock_description.h"

#include <linux/perf_event.h>

#include <ctime>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

absl::Status DescribeClock(const FileDescription& file,
                           logformat::TraceInfo& info) {
  const EventAttribute& first = file.attributes.front();
  for (const EventAttribute& attribute : file.attributes) {
    const bool timed = (attribute.sample_type & PERF_SAMPLE_TIME) != 0;
    if (!timed) {
      return absl::InvalidArgumentError(
          "Its samples have no times: record without --no-timestamp, or with "
          "-T");
    }
    if (attribute.Has(kUseClockId) != first.Has(kUseClockId) ||
        attribute.clock_id != first.clock_id) {
      return absl::InvalidArgumentError(
          "Its events have different clocks: record with one -k CLOCK");
    }
  }
  const bool monotonic =
      first.Has(kUseClockId) && first.clock_id == CLOCK_MONOTONIC;
  if (!monotonic) {
    info.not_known.push_back(absl::StrFormat(
        "how its times relate to those of other traces: they are of %s; "
        "perf record -k CLOCK_MONOTONIC has countrace's",
        first.Has(kUseClockId) ? absl::StrFormat("clock %d", first.clock_id)
                               : "perf's own clock, which may differ by some "
                                 "microseconds between CPUs"));
  }
  if (file.wall_and_clock_ns) {
    info.realtime_offset_ns = static_cast<std::int64_t>(
        file.wall_and_clock_ns->first - file.wall_and_clock_ns->second);
  } else {
    info.not_known.push_back(
        "the time of day of its events (perf record -k CLOCK_MONOTONIC adds "
        "it)");
  }
  return absl::OkStatus();
}

}  // namespace countrace::importer::perf
