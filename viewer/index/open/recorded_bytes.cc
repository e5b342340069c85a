#include "viewer/index/open/recorded_bytes.h"

#include <algorithm>

#include "viewer/index/file/overview_columns.h"

namespace countrace::viewer {
namespace {

__extension__ typedef unsigned __int128 Wide;

struct Columns {
  std::uint32_t first, last;
};

Columns ColumnsOf(const TraceSpan& span, const logformat::TimeSpan& time) {
  const auto at = [&](std::uint64_t time_ns) {
    return OverviewColumnAt(span.duration_ns, span.Relative(time_ns));
  };
  return {at(time.from_ns), at(time.until_ns)};
}

// How many of the packet's bytes are before `time_ns`.
std::uint64_t BytesBefore(const logformat::PacketExtent& packet,
                          std::uint64_t time_ns) {
  const auto [from_ns, until_ns] = packet.time;
  if (time_ns <= from_ns) return 0;
  if (time_ns >= until_ns) return packet.record_bytes;
  return static_cast<std::uint64_t>(Wide{packet.record_bytes} *
                                    (time_ns - from_ns) / (until_ns - from_ns));
}

void Spread(const logformat::PacketExtent& packet, const TraceSpan& span,
            std::vector<std::uint64_t>& columns) {
  const auto [first, last] = ColumnsOf(span, packet.time);
  std::uint64_t done = BytesBefore(packet, span.begin_ns);
  for (std::uint32_t column = first; column <= last; ++column) {
    const std::uint64_t here =
        column == last
            ? packet.record_bytes
            : BytesBefore(packet,
                          span.begin_ns +
                              OverviewBoundary(span.duration_ns, column + 1));
    columns[column] += here - done;
    done = here;
  }
}

}  // namespace

RecordedBytes RecordedFrom(const logformat::TraceReader& reader,
                           std::uint64_t begin_ns) {
  const std::uint64_t end_ns = std::max(reader.end_ns(), begin_ns + 1);
  RecordedBytes recorded{
      .span = {begin_ns, end_ns - begin_ns},
      .cpus = std::vector<std::uint64_t>(kOverviewColumns),
      .threads = std::vector<std::uint64_t>(kOverviewColumns),
      .lost = std::vector<std::uint8_t>(kOverviewColumns)};
  reader.VisitPackets([&](const logformat::PacketExtent& packet) {
    if (packet.time.until_ns < begin_ns) return;
    if (packet.lost) {
      const auto [first, last] = ColumnsOf(recorded.span, packet.time);
      std::fill(&recorded.lost[first], &recorded.lost[last] + 1, 1);
    } else {
      Spread(packet, recorded.span,
             packet.stream_class == logformat::StreamClass::kCpu
                 ? recorded.cpus
                 : recorded.threads);
    }
  });
  return recorded;
}

}  // namespace countrace::viewer
