// Repairs one stream file as its scan prescribes.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_STREAM_REPAIR_H_
#define COUNTRACE_LOGFORMAT_REPAIR_STREAM_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "logformat/description/trace_directory.h"
#include "logformat/read/packet_scanner.h"

namespace countrace::logformat {

struct RepairTarget {
  std::string directory;
  StreamFile file;
  std::span<const std::byte> bytes;  // of the file, as it was scanned
  bool has_checksums = true;         // packets of the trace have them
  std::uint64_t file_bytes = 0;      // as scanned
  std::uint64_t data_bytes = 0;  // before the hole at its end, if there is one
  Uuid uuid{};
  std::uint64_t begin_ns = 0;  // of the session
  // A process may have the file mapped: do not shorten it, but in a hole, where
  // no process can store.
  bool keep_length = false;
};

struct RepairResult {
  bool changed = false;
  std::uint64_t cut_bytes = 0;
};

// Sequence number of the stream's last packet after its repair, + 1: what
// FinishedStream::packets holds.
std::uint64_t PacketsWhenRepaired(const StreamScan& scan);

// `scan` was made with walk_closed. A sound stream is not touched. If it is
// killed at any point, the next scan and repair come to the same result: heads
// are patched front to back before the tail is cut; all other changes go to a
// new file that replaces the old one when it is complete. Returns:
// RESOURCE_EXHAUSTED, PERMISSION_DENIED.
absl::StatusOr<RepairResult> RepairStream(const RepairTarget& target,
                                          StreamScan& scan);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_STREAM_REPAIR_H_
