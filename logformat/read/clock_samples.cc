#include "logformat/read/clock_samples.h"

#include <sys/timex.h>

#include <cstring>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {

bool ClockSample::synchronised() const {
  return state >= TIME_OK && state < TIME_ERROR && (status & STA_UNSYNC) == 0;
}

absl::StatusOr<ClockSamples> ReadClockSamples(const TraceReader& trace) {
  ClockSamples out;
  const TraceInfo& info = trace.info();
  if (!info.clock_packets) return out;
  const auto mapping =
      base::FileMapping::Open(trace.directory() + "/" + kClockStream);
  if (absl::IsNotFound(mapping.status())) return out;
  if (!mapping.ok()) return mapping.status();
  const StreamScan scan = ScanStream(
      mapping->bytes(), RecordTable(EventClasses(info), StreamClass::kClock),
      {.uuid = info.uuid,
       .stream_class = StreamClass::kClock,
       .begin_ns = info.begin_ns,
       .expected_packets = *info.clock_packets,
       .has_checksums = info.finished && HasChecksums(info.format),
       .walk_closed = true});
  const auto add_damage = [&out](const std::vector<ScanFinding>& findings) {
    for (const ScanFinding& finding : findings) {
      out.damage.push_back(absl::StrFormat("%s, offset %d: %s", kClockStream,
                                           finding.offset, finding.what));
    }
  };
  std::uint64_t discarded = 0;
  for (const ScannedPacket& packet : scan.packets) {
    add_damage(packet.findings);
    discarded = packet.head.discarded;
    std::uint64_t last_ns = packet.head.begin_ns;
    for (auto left = packet.records; left.size() >= sizeof(ClockRecord);
         left = left.subspan(sizeof(ClockRecord))) {
      ClockSample& sample = out.samples.emplace_back();
      std::memcpy(static_cast<ClockRecord*>(&sample), left.data(),
                  sizeof(ClockRecord));
      last_ns = TimeAfter(last_ns, sample.header).time_ns;
      sample.monotonic_ns = last_ns;
    }
  }
  add_damage(scan.findings_at_end);
  if (discarded != 0) {
    out.damage.push_back(absl::StrFormat("%s: samples without room: %d",
                                         kClockStream, discarded));
  }
  if (absl::Status whole = mapping->CheckWhole(); !whole.ok()) return whole;
  return out;
}

}  // namespace countrace::logformat
