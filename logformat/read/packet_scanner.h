// Finds the packets of one stream file in any state: sound, left by a killed
// writer, or damaged (FORMAT.md, section 7).
//
// The result is the repaired stream: the reader delivers it, FinishTrace writes
// it to disk, VerifyTrace reports the differences. The three cannot disagree,
// because only the scanner decides what is kept.
#ifndef COUNTRACE_LOGFORMAT_READ_PACKET_SCANNER_H_
#define COUNTRACE_LOGFORMAT_READ_PACKET_SCANNER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/posix/file_mapping.h"
#include "logformat/description/trace_description.h"
#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"

namespace countrace::logformat {

// A deviation from what a writer leaves behind.
struct ScanFinding {
  std::uint64_t offset = 0;           // in the file
  std::uint64_t missing_packets = 0;  // lost before the next packet; may be 0
  std::string what;                   // with both numbers
  // Only a gap in the sequence numbers: packets are missing, the present ones
  // are sound. recover leaves such a gap where it removed packets.
  bool is_gap = false;
};

struct ScannedPacket {
  PacketHead head{};         // repaired: closed, monotone, numbered
  std::uint64_t offset = 0;  // in the file
  // Records, in the file's mapping unless `rebuilt` holds them.
  std::span<const std::byte> records;
  std::vector<std::byte> rebuilt;
  std::uint64_t record_count = 0;  // 0 if the packet was not walked
  std::uint64_t holes = 0;
  std::uint64_t touched_bytes = 0;  // of the packet in the file; behind: zeros
  bool was_open = false;
  bool head_changed = false;
  // It has its checksum from its writer; false: none, or from when the trace
  // was finished.
  bool checked_by_writer = false;
  // Found between the previous packet and this one's records.
  std::vector<ScanFinding> findings;
};

struct StreamScan {
  std::vector<ScannedPacket> packets;
  std::vector<ScanFinding> findings_at_end;
  std::uint64_t kept_end = 0;     // end of the last packet in the file
  std::uint64_t bad_regions = 0;  // byte ranges that are no packet
  std::uint64_t records = 0;      // of the packets that were walked
  std::uint64_t cut_texts = 0;    // in these records
  // The packets cannot be repaired in place.
  bool needs_rewrite = false;
};

struct ScanOptions {
  Uuid uuid{};
  StreamClass stream_class = StreamClass::kThread;
  std::uint64_t begin_ns = 0;  // of the session: time of an unset head
  // Packets the stream had when it was finished; 0: not known.
  std::uint64_t expected_packets = 0;
  // Whether packets without a checksum are damaged (FORMAT.md, 3.4).
  bool has_checksums = false;
  // Also check and walk closed packets (finish, verify). The reader does not
  // need it: it does both when it delivers their records.
  bool walk_closed = false;
  // TraceDirectory::grows(): the stream ends where the first word that was not
  // committed, or the first record of an unknown hook, was read. What lies
  // behind came later, and is no loss.
  bool grows = false;
  // The file's mapping. If given, its pages are released behind the scan; else
  // all pages that the kernel maps around accesses stay in memory.
  const base::FileMapping* mapping = nullptr;
};

// Empty: the closed packet at `offset` has the bytes that its checksum says, or
// has none and needs none. Else what is wrong, with both numbers. `mapping`: of
// the file, may be null; content in a hole of it is not read.
std::string ChecksumDamage(std::span<const std::byte> file,
                           const base::FileMapping* mapping,
                           std::uint64_t offset, bool has_checksums);

StreamScan ScanStream(std::span<const std::byte> file, const RecordTable& table,
                      const ScanOptions& options);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_PACKET_SCANNER_H_
