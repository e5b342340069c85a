// Writes one stream file as a sequence of packets, each mapped from the file
// while it is filled: appended records survive `kill -9` of the writer.
//
// Used by the kernel recorder (kCpu streams) and by tests. The runtime library
// writes kThread streams with its own lock-free ring, in the same layout
// (runtime/inprocess/ring/thread_ring.h). Thread: one writer, one thread.
//
// A full device is never a SIGBUS: space is allocated and made resident before
// a packet is opened. When that fails, records are discarded (kDiskFull); the
// next attempt follows after 100 ms of record time.
#ifndef COUNTRACE_LOGFORMAT_WRITE_PACKET_WRITER_H_
#define COUNTRACE_LOGFORMAT_WRITE_PACKET_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {

struct PacketWriterOptions {
  std::string directory;
  std::string file;  // "cpu-0", "thread-…"
  int fd = -1;       // that file, open and empty; -1: it is created
  StreamClass stream_class = StreamClass::kCpu;
  std::array<std::uint8_t, 16> uuid{};
  std::int32_t cpu = -1, pid = -1, tid = -1;
  std::uint32_t mmcr = 0, present = 0;
  // Largest packet, a multiple of kPacketAlignBytes and at least two of them.
  // A packet closed early takes only the pages it filled.
  std::size_t packet_bytes = 1 << 20;
};

class PacketWriter {
 public:
  // Creates the file, empty; the first packet is opened by the first record.
  // Returns: ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
  // INVALID_ARGUMENT bad packet_bytes.
  static absl::StatusOr<std::unique_ptr<PacketWriter>> Create(
      const PacketWriterOptions& options);
  ~PacketWriter();  // closes

  // Appends one record: header word, then `body` (at most kMaxRecordBytes - 8),
  // then zeros up to a multiple of 8 bytes. A body that ends with a text comes
  // without its padding: a packet's content ends with its last record, and
  // babeltrace2 would read padding as one more. Returns false if it was
  // discarded (counted). `time_ns` must not go back; if it does, it is clamped
  // to the last record's and counted in clock_errors().
  bool Append(std::uint16_t event_id, std::uint64_t time_ns,
              std::span<const std::byte> body);

  // Counts records that the caller lost at this point of the stream: closes the
  // open packet to keep the position of the loss.
  void CountDiscarded(DiscardCause cause, std::uint64_t records);

  // Counts packets that the caller lost at this point of the stream, with an
  // unknown number of records: leaves a gap in the sequence numbers. `time_ns`
  // as in Append().
  void CountLostPackets(std::uint64_t packets, std::uint64_t time_ns);

  // Writes an empty packet at `time_ns`, which must not go back: losses counted
  // next happened after it. Returns false if the device is full.
  bool Mark(std::uint64_t time_ns);

  // Opens a packet that begins at `time_ns`, closes the open one at `time_ns`,
  // which must not go back. For writers that have the times at which a packet
  // began and ended; else a packet begins and ends with its records.
  bool BeginPacket(std::uint64_t time_ns);
  void EndPacket(std::uint64_t time_ns);

  // Identity and event set of the packets that follow (kThread: stream reuse).
  void SetPacketIdentity(std::int32_t pid, std::int32_t tid, std::uint32_t mmcr,
                         std::uint32_t present);

  // Closes the open packet, cuts the file to its end. Idempotent. After it,
  // Append() discards.
  absl::Status Close();
  // Leaves the file as a killed writer would (for tests of recover).
  void Abandon();

  std::uint64_t records() const;
  std::uint64_t discarded() const;
  // The part of discarded() that no packet of the file could hold, because the
  // device was full from the first packet on. The owner adds it to
  // SessionControl::discarded_by_cause.
  std::array<std::uint64_t, kDiscardCauses> unplaced_discarded() const;
  // errno behind the last kDiskFull or kNoResource discard, 0 if none.
  int last_errno() const;
  std::uint64_t clock_errors() const;
  std::uint64_t bytes() const;
  // Packets so far, lost ones included: the sequence number of the next one.
  std::uint64_t packets() const;

 private:
  struct Impl;
  explicit PacketWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_WRITE_PACKET_WRITER_H_
