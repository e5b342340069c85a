// The checksum of a packet: CRC32C of its head and records (FORMAT.md, 3.4).
//
// Shared by every writer and the reader. Plain functions that allocate nothing:
// also compiled into the runtime library.
#ifndef COUNTRACE_LOGFORMAT_PACKET_CHECKSUM_H_
#define COUNTRACE_LOGFORMAT_PACKET_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::logformat {

// CRC32C (Castagnoli; RFC 3720, B.4) of `bytes` bytes behind what gave `crc`; 0
// begins. With the instructions of x86 (SSE4.2) and ARMv8, else by tables.
std::uint32_t Crc32c(std::uint32_t crc, const void* data,
                     std::size_t bytes) noexcept;
// The same by tables, for machines without the instructions and for tests.
std::uint32_t Crc32cByTables(std::uint32_t crc, const void* data,
                             std::size_t bytes) noexcept;

// Bytes of records that the checksum of a closed packet covers.
constexpr std::size_t CheckedRecordBytes(const PacketHead& head) noexcept {
  const std::uint64_t content = head.content_bits / 8;
  return (content + kRecordAlignBytes - 1) / kRecordAlignBytes *
             kRecordAlignBytes -
         kPacketHeadBytes;
}

// Returns the checksum of a closed packet, whatever `head.checksum` is.
// `records`: behind the head. Requires: content_bits is at least a head's;
// CheckedRecordBytes() bytes.
std::uint32_t PacketChecksum(const PacketHead& head,
                             const void* records) noexcept;

// The checksum of the closed packet with head `before` once its head is
// `after`, without its records: what does not match `before.checksum` will not
// match the result. Requires: a checksum; the records are the same.
std::uint32_t ChangedChecksum(const PacketHead& before,
                              const PacketHead& after) noexcept;

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_PACKET_CHECKSUM_H_
