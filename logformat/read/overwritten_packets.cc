#include "logformat/read/overwritten_packets.h"

#include <algorithm>
#include <iterator>

#include "logformat/read/record_walk.h"
#include "logformat/running_thread.h"

namespace countrace::logformat {
namespace {

// The first packet of a stream stays, or its head.
constexpr std::size_t kOverwrittenIndex = 1;
constexpr auto kFull = static_cast<std::size_t>(DiscardCause::kTraceFull);

// Time of the first record in `packet` that names the CPU's thread, or 0.
std::uint64_t NamedNs(const ScannedPacket& packet, const RecordTable& table,
                      const TraceInfo& info) {
  std::uint64_t last_ns = packet.head.begin_ns;
  for (std::size_t at = 0; at < packet.records.size();) {
    const std::byte* record = packet.records.data() + at;
    const std::size_t left = packet.records.size() - at;
    const std::uint64_t word = LoadWord(record);
    const std::uint16_t id = HeaderEventId(word);
    std::size_t bytes = table.fixed_bytes()[id];
    if (bytes == RecordTable::kVariable) {
      bytes = table.Measure(id, record, left).padded_bytes;
    }
    if (bytes == 0 || bytes > left) return 0;
    last_ns = TimeAfter(last_ns, word).time_ns;
    if (RunningTid(info, id, {record, bytes})) return last_ns;
    at += bytes;
  }
  return 0;
}

}  // namespace

bool IsOverwritten(const StreamScan& scan, std::size_t index) {
  if (index != kOverwrittenIndex || index >= scan.packets.size()) return false;
  const ScannedPacket& packet = scan.packets[index];
  return packet.records.empty() &&
         packet.head.discarded_by_cause[kFull] >
             scan.packets[index - 1].head.discarded_by_cause[kFull];
}

void DescribeLoss(const StreamScan& scan, StreamInfo& stream) {
  const auto add = [&stream](const std::vector<ScanFinding>& findings) {
    for (const ScanFinding& finding : findings) {
      stream.lost_packets += finding.missing_packets;
    }
  };
  for (std::size_t i = 0; i < scan.packets.size(); ++i) {
    add(scan.packets[i].findings);
    const auto& discarded = scan.packets[i].head.discarded_by_cause;
    std::copy(std::begin(discarded), std::end(discarded),
              stream.discarded.begin());
    if (!IsOverwritten(scan, i)) continue;
    stream.overwritten = stream.discarded[kFull] -
                         scan.packets[i - 1].head.discarded_by_cause[kFull];
  }
  add(scan.findings_at_end);
}

std::uint64_t OverwrittenUntilNs(const StreamScan& scan, std::size_t index) {
  const PacketHead& head = scan.packets[index].head;
  // Earlier versions did not store the end.
  if (head.end_ns > head.begin_ns || index + 1 >= scan.packets.size()) {
    return head.end_ns;
  }
  return scan.packets[index + 1].head.begin_ns;
}

std::optional<std::uint64_t> KnownAfterNs(const StreamScan& scan,
                                          const RecordTable& table, bool of_cpu,
                                          const TraceInfo& info) {
  if (!IsOverwritten(scan, kOverwrittenIndex)) return std::nullopt;
  const std::uint64_t end_ns = OverwrittenUntilNs(scan, kOverwrittenIndex);
  if (!of_cpu) return end_ns;
  for (std::size_t i = kOverwrittenIndex + 1; i < scan.packets.size(); ++i) {
    const std::uint64_t named_ns = NamedNs(scan.packets[i], table, info);
    if (named_ns != 0) return std::max(end_ns, named_ns);
  }
  return end_ns;
}

}  // namespace countrace::logformat
