// Reads the records of one stream file as they are committed, while its writer
// continues: each record once and in the order of the file.
//
// The writer is not involved and not slowed down. The file is read with
// pread(2), so a program that truncates its own stream cannot crash us. A
// record that is reserved and not committed holds up those after it, until it
// is committed or kPatienceNs after its packet was left. Data that a flight
// recording overwrote before it was read is skipped and counted. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_STREAM_FOLLOWER_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_STREAM_FOLLOWER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "logformat/description/trace_directory.h"
#include "logformat/packet_layout.h"
#include "logformat/records.h"
#include "runtime/recorder/triggers/watched_record.h"

namespace countrace::runtime {

// Buffers for reading, shared by all streams.
struct FollowBuffers {
  std::vector<std::byte> first, second;
};

class StreamFollower {
 public:
  static constexpr std::uint64_t kPatienceNs = 100'000'000;

  StreamFollower(const std::string& directory,
                 const logformat::StreamFile& file);

  // Appends the watched records committed since the last call to `out`.
  // `overwritten_to`: packets before this offset were overwritten. Reads
  // `most_bytes` at once, plus at most one packet head. Returns true if it
  // reached the end.
  bool Follow(const WatchedStream& watched, std::uint64_t now_ns,
              std::uint64_t overwritten_to, std::size_t most_bytes,
              FollowBuffers& buffers, std::vector<WatchedRecord>& out);

  // Closes the file until the next Follow().
  void CloseFile() { file_.Reset(); }

  logformat::StreamClass stream_class() const { return class_; }
  const std::string& name() const { return name_; }
  // Time of the last record read.
  std::uint64_t reached_ns() const { return last_ns_; }
  std::uint64_t records() const { return records_; }
  // Bytes of records that were not read: overwritten, or not readable.
  std::uint64_t skipped_bytes() const { return skipped_bytes_; }
  // errno of the file's last open, 0 on success.
  int open_error() const { return open_error_; }

 private:
  enum class Step { kMore, kFrontier, kPacketDone };

  bool EnterPacket(std::vector<WatchedRecord>& out);
  bool IsNextPacketThere();
  void LeavePacket();
  Step ReadSome(const WatchedStream& watched, std::uint64_t now_ns,
                std::size_t most_bytes, FollowBuffers& buffers,
                std::size_t& bytes, std::vector<WatchedRecord>& out);
  std::size_t Walk(const WatchedStream& watched, const std::byte* seen,
                   const std::byte* records, std::size_t size, bool open,
                   std::vector<WatchedRecord>& out);
  Step AtRest(std::uint64_t now_ns, bool closed, std::size_t bytes_left);
  void Note(const WatchedStream& watched, std::uint16_t event_id,
            std::span<const std::byte> record,
            std::vector<WatchedRecord>& out) const;
  logformat::EventRecord EventOf(std::uint16_t event_id,
                                 std::span<const std::byte> record,
                                 bool dump_heads) const;
  void NoteLoss(std::uint64_t time_ns, std::vector<WatchedRecord>& out) const;
  bool Read(std::uint64_t offset, void* out, std::size_t bytes);

  std::string path_, name_;
  logformat::StreamClass class_;
  base::ScopedFd file_;
  logformat::PacketHead head_{};
  bool in_packet_ = false;
  std::uint64_t offset_ = 0;            // of the packet
  std::uint64_t at_ = 0;                // of the next record, in the packet
  std::uint64_t last_ns_ = 0;           // of the previous record
  std::uint64_t discarded_ = 0;         // from the last packet's head
  std::uint64_t waiting_since_ns_ = 0;  // at `waiting_at_`
  std::uint64_t waiting_at_ = 0;
  bool skip_holes_ = false;  // for the rest of this packet
  std::uint64_t records_ = 0, skipped_bytes_ = 0;
  int open_error_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_STREAM_FOLLOWER_H_
