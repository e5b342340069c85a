#include "logformat/write/flight_stream.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/str_format.h"
#include "logformat/packet_checksum.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {
namespace {

// The newest packets stay: their writers may still count losses in them.
constexpr std::size_t kNewestKept = 2;
constexpr auto kOverwrittenCause =
    static_cast<std::size_t>(DiscardCause::kTraceFull);

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

  bool Read(std::uint64_t offset, void* out, std::size_t bytes) const {
    return pread(fd_, out, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  }
  bool Write(std::uint64_t offset, const void* data, std::size_t bytes) const {
    return pwrite(fd_, data, bytes, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

absl::Status Failed(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno,
                             absl::StrFormat("Cannot %s %s", what, path));
}

bool IsHead(const PacketHead& head) {
  return head.magic == kPacketMagic && head.packet_bits % 8 == 0 &&
         head.packet_bits / 8 >= kPacketAlignBytes &&
         head.packet_bits / 8 % kPacketAlignBytes == 0;
}

// As above: a head that is stored again needs one.
bool AddChecksum(const OpenFile& file, std::uint64_t offset, PacketHead& head) {
  if (head.content_bits > head.packet_bits ||
      head.content_bits < kPacketHeadBytes * 8 ||
      head.packet_bits / 8 > kMaxPacketBytes) {
    return true;  // FinishTrace() finds out what it is
  }
  std::vector<std::byte> records(CheckedRecordBytes(head));
  if (!file.Read(offset + kPacketHeadBytes, records.data(), records.size())) {
    return false;
  }
  head.flags |= kPacketLateChecksum;
  head.checksum = PacketChecksum(head, records.data());
  return true;
}

}  // namespace

void FlightNumbering::Apply(PacketHead& head) {
  const PacketHead before = head;
  Number(head);
  if (before.checksum != 0) head.checksum = ChangedChecksum(before, head);
}

void FlightNumbering::Number(PacketHead& head) {
  head.sequence = sequence_++;
  const bool counts_overwritten = (head.flags & kPacketOverwritten) != 0;
  if (counts_overwritten) {
    // The packet's own counts include them already.
    overwritten_[kOverwrittenCause] = head.raw_end;
    head.raw_end = 0;
    head.flags &= ~static_cast<std::uint32_t>(kPacketOverwritten);
    return;
  }
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    head.discarded_by_cause[i] += overwritten_[i];
    head.discarded += overwritten_[i];
  }
}

FlightStream::FlightStream(const std::string& directory, const StreamFile& file)
    : path_(directory + "/" + file.name), class_(file.stream_class) {}

absl::Status FlightStream::FindClosed() {
  const OpenFile file(path_);
  if (file.get() < 0) return Failed("open", path_);
  PacketHead head;
  while (file.Read(next_offset_, &head, sizeof(head)) && IsHead(head) &&
         head.content_bits != 0) {
    const std::uint64_t bytes = head.packet_bits / 8;
    if (next_offset_ == 0) first_bytes_ = bytes;
    if (next_offset_ != 0 || class_ == StreamClass::kThread) {
      closed_.push_back({next_offset_, bytes, head.end_ns});
    }
    closed_bytes_ += bytes;
    next_offset_ += bytes;
  }
  return absl::OkStatus();
}

std::uint64_t FlightStream::oldest_end_ns() const {
  if (closed_.size() <= kNewestKept) return ~std::uint64_t{0};
  return closed_.front().end_ns;
}

absl::Status FlightStream::WriteEmpty(std::uint64_t offset, std::uint64_t bytes,
                                      PacketHead head) {
  head.content_bits = kPacketHeadBytes * 8;
  head.packet_bits = bytes * 8;
  // The preparer of the program may be about to store that of the old packet:
  // it does so only where there is none.
  head.checksum = PacketChecksum(head, nullptr);
  const OpenFile file(path_);
  if (!file.Write(offset, &head, sizeof(head))) return Failed("write", path_);
  return absl::OkStatus();
}

absl::StatusOr<std::uint64_t> FlightStream::DropOldest(
    const RecordTable& table) {
  if (closed_.size() <= kNewestKept) return 0;
  const OpenFile file(path_);
  if (file.get() < 0) return Failed("open", path_);
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return 0;
  const Closed oldest = closed_.front();
  std::vector<std::byte> packet(oldest.bytes);
  PacketHead head;
  if (!file.Read(oldest.offset, packet.data(), packet.size()) ||
      !file.Read(oldest.offset, &head, sizeof(head)) || !IsHead(head) ||
      head.content_bits / 8 < kPacketHeadBytes ||
      head.content_bits / 8 > oldest.bytes) {
    return absl::DataLossError(
        absl::StrFormat("%s changed at offset %d", path_, oldest.offset));
  }
  // The content may end with a text, in the middle of a word.
  const std::size_t bytes = std::min<std::size_t>(
      CheckedRecordBytes(head), packet.size() - kPacketHeadBytes);
  const RecordWalk walk =
      WalkRecords(table, std::span(packet).subspan(kPacketHeadBytes, bytes),
                  head.begin_ns, /*open=*/false);
  overwritten_ += walk.records;
  const bool first = dropped_to_ == 0;
  if (first) {
    first_dropped_ = head;
    // The head of a thread's first packet stays, empty: babeltrace2 does not
    // accept losses in the first packet of a stream.
    dropped_from_ = oldest.offset == 0 ? kPacketAlignBytes : oldest.offset;
  }
  dropped_to_ = oldest.offset + oldest.bytes;
  if (dropped_to_ > dropped_from_) {
    PacketHead empty = first_dropped_;
    empty.sequence = head.sequence;
    for (std::size_t i = 0; i < kDiscardCauses; ++i) {
      empty.discarded_by_cause[i] = head.discarded_by_cause[i];
    }
    empty.discarded = head.discarded + overwritten_;
    empty.discarded_by_cause[kOverwrittenCause] += overwritten_;
    empty.raw_begin = 0;
    empty.monotonic_begin = empty.monotonic_end = empty.begin_ns;
    empty.end_ns = oldest.end_ns;
    empty.flags |= kPacketOverwritten;
    empty.raw_end = overwritten_;
    const absl::Status written =
        WriteEmpty(dropped_from_, dropped_to_ - dropped_from_, empty);
    if (!written.ok()) return written;
  }
  if (oldest.offset == 0) {
    head.end_ns = head.begin_ns;
    const absl::Status written = WriteEmpty(0, kPacketAlignBytes, head);
    if (!written.ok()) return written;
  }
  const std::uint64_t hole = dropped_from_ + kPacketAlignBytes;
  if (dropped_to_ > hole &&
      fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(hole),
                static_cast<off_t>(dropped_to_ - hole)) != 0) {
    return Failed("free the space of", path_);
  }
  closed_.pop_front();
  closed_bytes_ -= oldest.bytes;
  return oldest.bytes;
}

absl::Status FlightStream::Renumber() {
  const OpenFile file(path_);
  if (file.get() < 0) return Failed("open", path_);
  FlightNumbering numbering;
  PacketHead head;
  for (std::uint64_t offset = 0;
       file.Read(offset, &head, sizeof(head)) && IsHead(head);
       offset += head.packet_bits / 8) {
    if (head.content_bits != 0 && head.checksum == 0 &&
        !AddChecksum(file, offset, head)) {
      return Failed("read", path_);
    }
    numbering.Apply(head);
    if (!file.Write(offset, &head, sizeof(head))) {
      return Failed("write", path_);
    }
  }
  return absl::OkStatus();
}

}  // namespace countrace::logformat
