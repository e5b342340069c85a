// One stream file of a flight recording: one empty packet replaces its oldest
// packets, and counts their records (FORMAT.md, section 6).
//
//   first packet, [overwritten: one empty packet], newest packets ...
//
// The file only grows; overwritten space becomes a hole in the file. A cpu
// stream keeps its first packet, which names the processes and has the first
// counter values; a thread stream keeps the first packet's head only. Writers
// continue meanwhile: only packets they have left are touched. For each step
// the file is locked with flock(2) against a snapshot. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_WRITE_FLIGHT_STREAM_H_
#define COUNTRACE_LOGFORMAT_WRITE_FLIGHT_STREAM_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/description/trace_directory.h"
#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"

namespace countrace::logformat {

class FlightStream {
 public:
  FlightStream(const std::string& directory, const StreamFile& file);

  // Finds the packets that were closed since the last call.
  absl::Status FindClosed();

  std::uint64_t closed_bytes() const { return closed_bytes_; }
  // When the oldest packet that may be dropped was left; all ones: none.
  std::uint64_t oldest_end_ns() const;
  // Overwrites the oldest packet. `table` is for the stream's class and has
  // every hook registered by now. Returns: bytes released; 0: a snapshot is
  // running, or no packet may be dropped.
  absl::StatusOr<std::uint64_t> DropOldest(const RecordTable& table);

  std::uint64_t overwritten_records() const { return overwritten_; }
  // Offset of the first packet behind the overwritten ones; 0: none.
  std::uint64_t overwritten_to() const { return dropped_to_; }
  StreamClass stream_class() const { return class_; }

  // Called when the recording has ended: numbers the packets and adds the
  // overwritten records to the counts of the packets behind them.
  absl::Status Renumber();

 private:
  struct Closed {
    std::uint64_t offset, bytes, end_ns;
  };
  absl::Status WriteEmpty(std::uint64_t offset, std::uint64_t bytes,
                          PacketHead head);

  std::string path_;
  StreamClass class_;
  std::deque<Closed> closed_;      // oldest first
  std::uint64_t next_offset_ = 0;  // of the first packet that may still be open
  std::uint64_t closed_bytes_ = 0;
  std::uint64_t first_bytes_ = 0;  // of the first packet, once it is closed
  std::uint64_t dropped_from_ = 0, dropped_to_ = 0;  // the hole; equal: none
  std::uint64_t overwritten_ = 0;
  PacketHead first_dropped_{};
};

// Sets the numbers in `head` as in a finished stream; `sequence` increases. A
// checksum that was right stays right.
class FlightNumbering {
 public:
  // Heads in the order of the file.
  void Apply(PacketHead& head);

 private:
  void Number(PacketHead& head);

  std::uint32_t sequence_ = 0;
  std::array<std::uint64_t, kDiscardCauses> overwritten_{};
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_WRITE_FLIGHT_STREAM_H_
