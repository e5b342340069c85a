#include "logformat/repair/stream_repair.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/posix/file_output.h"
#include "logformat/packet_checksum.h"

namespace countrace::logformat {
namespace {

// What stays of a hole at the end: more than a process that had not yet seen
// the end of the recording prepares.
constexpr std::uint64_t kKeptHoleBytes = kMaxPacketBytes / 2;

std::uint64_t PageRound(std::uint64_t bytes) {
  return (bytes + kPacketAlignBytes - 1) / kPacketAlignBytes *
         kPacketAlignBytes;
}

std::span<const std::byte> HeadBytes(const PacketHead& head) {
  return std::as_bytes(std::span<const PacketHead, 1>(&head, 1));
}

std::uint64_t MissingAtEnd(const StreamScan& scan) {
  return scan.findings_at_end.empty()
             ? 0
             : scan.findings_at_end.front().missing_packets;
}

// An empty packet that continues the stream after `scan`. Its number leaves a
// gap in the sequence for packets that are missing at the end.
PacketHead EmptyHead(const RepairTarget& target, const StreamScan& scan,
                     std::uint64_t packet_bytes) {
  PacketHead head = {};
  if (!scan.packets.empty()) {
    head = scan.packets.back().head;
    ++head.sequence;
  } else {
    head.magic = kPacketMagic;
    std::copy(target.uuid.begin(), target.uuid.end(), head.uuid);
    head.stream_class = static_cast<std::uint32_t>(target.file.stream_class);
    head.end_ns = target.begin_ns;
    head.cpu = head.pid = head.tid = -1;
  }
  head.sequence += static_cast<std::uint32_t>(MissingAtEnd(scan));
  head.begin_ns = head.end_ns;
  head.monotonic_begin = head.monotonic_end = head.end_ns;
  head.raw_begin = head.raw_end = 0;
  head.content_bits = kPacketHeadBytes * 8;
  head.packet_bits = packet_bytes * 8;
  head.flags |= kPacketRecovered | kPacketLateChecksum;
  head.checksum = target.has_checksums ? PacketChecksum(head, nullptr) : 0;
  return head;
}

// Stores the checksum of a packet whose head has its final values. It is the
// writer's only if the writer's was right and the records are the writer's.
void StoreChecksum(const RepairTarget& target, ScannedPacket& packet) {
  PacketHead& head = packet.head;
  if (!target.has_checksums && head.checksum == 0) return;
  PacketHead stored;
  std::memcpy(&stored, target.bytes.data() + packet.offset, sizeof(stored));
  if (packet.checked_by_writer && packet.rebuilt.empty() &&
      CheckedRecordBytes(head) == CheckedRecordBytes(stored)) {
    head.checksum = ChangedChecksum(stored, head);
  } else if (packet.head_changed || head.checksum == 0) {
    head.flags |= kPacketLateChecksum;
    head.checksum = PacketChecksum(head, packet.records.data());
  }
  packet.head_changed = std::memcmp(&head, &stored, sizeof(head)) != 0;
}

absl::Status Rewrite(const RepairTarget& target, StreamScan& scan,
                     std::uint64_t& end) {
  base::FileOutput out;
  const std::string temporary =
      target.directory + "/" + kRewritePrefix + target.file.name;
  if (absl::Status s = out.Create(temporary); !s.ok()) return s;
  end = 0;
  const auto put = [&](const PacketHead& head,
                       std::span<const std::byte> records) {
    absl::Status status = out.WriteAt(end, HeadBytes(head));
    if (status.ok()) status = out.WriteAt(end + kPacketHeadBytes, records);
    end += head.packet_bits / 8;
    if (status.ok()) status = out.SetLength(end);
    return status;
  };
  absl::Status status;
  for (ScannedPacket& packet : scan.packets) {
    if (!status.ok()) break;
    packet.head.packet_bits =
        PageRound(kPacketHeadBytes + packet.records.size()) * 8;
    packet.head_changed = true;
    StoreChecksum(target, packet);
    status = put(packet.head, packet.records);
  }
  if (status.ok() && MissingAtEnd(scan) != 0) {
    status = put(EmptyHead(target, scan, kPacketAlignBytes), {});
  }
  if (status.ok()) {
    status = out.RenameTo(target.directory + "/" + target.file.name);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

}  // namespace

std::uint64_t PacketsWhenRepaired(const StreamScan& scan) {
  std::uint64_t packets =
      scan.packets.empty()
          ? 0
          : std::uint64_t{scan.packets.back().head.sequence} + 1;
  if (MissingAtEnd(scan) != 0) packets += MissingAtEnd(scan) + 1;
  return packets;
}

absl::StatusOr<RepairResult> RepairStream(const RepairTarget& target,
                                          StreamScan& scan) {
  RepairResult result;
  if (scan.needs_rewrite) {
    std::uint64_t end = 0;
    if (absl::Status s = Rewrite(target, scan, end); !s.ok()) return s;
    result.changed = true;
    result.cut_bytes = target.file_bytes > end ? target.file_bytes - end : 0;
    return result;
  }
  std::uint64_t end = scan.kept_end;
  if (!scan.packets.empty() && !target.keep_length) {
    ScannedPacket& last = scan.packets.back();
    if (last.was_open) {
      // Everything behind the last record that was begun is zeros.
      const std::uint64_t bytes = PageRound(std::max<std::uint64_t>(
          last.touched_bytes, last.head.content_bits / 8));
      last.head.packet_bits = bytes * 8;
      end = last.offset + bytes;
    }
  }
  for (ScannedPacket& packet : scan.packets) StoreChecksum(target, packet);
  const bool any_head =
      std::any_of(scan.packets.begin(), scan.packets.end(),
                  [](const ScannedPacket& p) { return p.head_changed; });
  if (!any_head && end == target.file_bytes) return result;
  result.changed = true;
  base::FileOutput out;
  const std::string path = target.directory + "/" + target.file.name;
  if (absl::Status s = out.OpenExisting(path); !s.ok()) return s;
  // Extend the file first: a packet must not reach beyond its end.
  std::uint64_t file_bytes = PageRound(target.file_bytes);
  if (target.keep_length) {
    file_bytes =
        std::min(file_bytes,
                 PageRound(std::max(end, target.data_bytes)) + kKeptHoleBytes);
  }
  if (target.keep_length || end > target.file_bytes) {
    const std::uint64_t grown = std::max(end, file_bytes);
    if (grown != target.file_bytes) {
      if (absl::Status s = out.SetLength(grown); !s.ok()) return s;
    }
  }
  for (const ScannedPacket& packet : scan.packets) {
    if (!packet.head_changed) continue;
    if (absl::Status s = out.WriteAt(packet.offset, HeadBytes(packet.head));
        !s.ok()) {
      return s;
    }
  }
  if (target.keep_length) {
    if (file_bytes > end) {
      const PacketHead head = EmptyHead(target, scan, file_bytes - end);
      if (absl::Status s = out.WriteAt(end, HeadBytes(head)); !s.ok()) return s;
    }
    return result;
  }
  if (target.file_bytes > end) {
    result.cut_bytes = target.file_bytes - end;
    if (absl::Status s = out.SetLength(end); !s.ok()) return s;
  }
  return result;
}

}  // namespace countrace::logformat
