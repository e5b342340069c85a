// Finds the packets of one stream file, whatever state it is in: sound, left by
// a killed writer, or damaged (FORMAT.md, section 7).
//
// The result is the stream as it should be: the reader delivers it, FinishTrace
// writes it to disk, VerifyTrace reports the differences. One place decides
// what is kept, so the three cannot disagree.
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

// Something that is not as a writer leaves it.
struct ScanFinding {
  std::uint64_t offset = 0;           // in the file
  std::uint64_t missing_packets = 0;  // lost before the next packet; may be 0
  std::string what;                   // with both numbers
  // Nothing but a gap in the sequence numbers: packets are missing, what is
  // there is sound. Recover leaves such gaps where it removed something.
  bool is_gap = false;
};

struct ScannedPacket {
  PacketHead head{};         // as it should be: closed, monotone, numbered
  std::uint64_t offset = 0;  // in the file
  // Records, in the file's mapping unless `rebuilt` holds them.
  std::span<const std::byte> records;
  std::vector<std::byte> rebuilt;
  std::uint64_t record_count = 0;  // 0 if the packet was not walked
  std::uint64_t holes = 0;
  std::uint64_t touched_bytes = 0;  // of the packet in the file; behind: zeros
  bool was_open = false;
  bool head_changed = false;
  // Found between the packet before and the records of this one.
  std::vector<ScanFinding> findings;
};

struct StreamScan {
  std::vector<ScannedPacket> packets;
  std::vector<ScanFinding> findings_at_end;
  std::uint64_t kept_end = 0;     // end of the last packet in the file
  std::uint64_t bad_regions = 0;  // byte ranges that are no packet
  std::uint64_t records = 0;      // of the packets that were walked
  // The packets cannot be made valid where they are.
  bool needs_rewrite = false;
};

struct ScanOptions {
  Uuid uuid{};
  StreamClass stream_class = StreamClass::kThread;
  std::uint64_t begin_ns = 0;  // of the session: time of an unset head
  // Packets the stream had when it was finished; 0: not known.
  std::uint64_t expected_packets = 0;
  // Also walk closed packets (finish, verify). The reader does not: it walks
  // them when it delivers their records.
  bool walk_closed = false;
  // Of the file: its pages are given back behind the scan, else so much of it
  // is in memory at once as the kernel maps around what is looked at.
  const base::FileMapping* mapping = nullptr;
};

StreamScan ScanStream(std::span<const std::byte> file, const RecordTable& table,
                      const ScanOptions& options);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_PACKET_SCANNER_H_
