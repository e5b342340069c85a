#include "runtime/recorder/triggers/stream_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "logformat/read/record_walk.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;
using logformat::CpuEvent;
using logformat::kPacketHeadBytes;
using logformat::LoadWord;
using logformat::PacketHead;
using logformat::RecordTable;
using logformat::StreamClass;

// Enough to see that there is no new record.
constexpr std::size_t kProbeBytes = 4096;
// Holds a whole record at any position.
constexpr std::size_t kChunkBytes = 64 << 10;
static_assert(kChunkBytes >= 2 * logformat::kMaxRecordBytes);

bool IsHead(const PacketHead& head) {
  return head.magic == logformat::kPacketMagic && head.packet_bits % 8 == 0 &&
         head.packet_bits / 8 >= logformat::kPacketAlignBytes &&
         head.packet_bits / 8 <= logformat::kMaxPacketBytes &&
         head.content_bits <= head.packet_bits;
}

}  // namespace

StreamFollower::StreamFollower(const std::string& directory,
                               const logformat::StreamFile& file)
    : path_(directory + "/" + file.name),
      name_(file.name),
      class_(file.stream_class) {}

bool StreamFollower::Read(std::uint64_t offset, void* out, std::size_t bytes) {
  return pread(file_.get(), out, bytes, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes);
}

void StreamFollower::NoteLoss(std::uint64_t time_ns,
                              std::vector<WatchedRecord>& out) const {
  out.push_back({.time_ns = time_ns,
                 .pid = head_.pid,
                 .tid = head_.tid,
                 .cpu = class_ == StreamClass::kCpu ? head_.cpu : -1,
                 .kind = WatchedKind::kLoss});
}

void StreamFollower::Note(const WatchedStream& watched, std::uint16_t event_id,
                          std::span<const std::byte> record,
                          std::vector<WatchedRecord>& out) const {
  WatchedRecord noted{.time_ns = last_ns_,
                      .pid = head_.pid,
                      .tid = head_.tid,
                      .event_id = event_id};
  if (class_ == StreamClass::kCpu) {
    const std::uint64_t ids = LoadWord(record.data() + 8);
    noted.cpu = head_.cpu;
    if (logformat::IsKernelHookEvent(event_id)) {
      noted.tid = static_cast<std::int32_t>(ids & 0xffffff);
      noted.pid = static_cast<std::int32_t>(ids >> 24 & 0xffffff);
    } else if (event_id == static_cast<std::uint16_t>(CpuEvent::kCounters)) {
      // The ends of calls that are open there are not known.
      const auto reason = static_cast<std::uint32_t>(ids);
      if (reason == static_cast<std::uint32_t>(CountersReason::kCallsLeftOut)) {
        NoteLoss(last_ns_, out);
      }
      return;
    } else {  // TaskRecord, CommRecord
      noted.kind = WatchedKind::kThreadEnd;
      noted.pid = static_cast<std::int32_t>(ids);
      noted.tid = static_cast<std::int32_t>(ids >> 32);
    }
  }
  if (watched.values != nullptr && noted.kind == WatchedKind::kHook &&
      (event_id & logformat::kEventExitBit) == 0) {
    noted.failed =
        watched.values->Failed(EventOf(event_id, record, watched.dump_heads));
  }
  out.push_back(noted);
}

logformat::EventRecord StreamFollower::EventOf(
    std::uint16_t event_id, std::span<const std::byte> record,
    bool dump_heads) const {
  logformat::EventRecord event{};
  event.time_ns = last_ns_;
  event.stream_class = class_;
  event.event_id = event_id;
  event.mmcr = head_.mmcr;
  event.bytes = record;
  const std::size_t at = class_ == StreamClass::kCpu
                             ? sizeof(logformat::KernelHookRecord)
                             : sizeof(std::uint64_t);
  if (dump_heads && (event_id & logformat::kEventDumpBit) != 0) {
    logformat::ThreadDump dump;
    std::memcpy(&dump, record.data() + at, sizeof(dump));
    event.mmcr = dump.mmcr;
  }
  return event;
}

bool StreamFollower::EnterPacket(std::vector<WatchedRecord>& out) {
  PacketHead head;
  for (;;) {
    // Reads twice: the magic is stored last, so the second read has the
    // complete head.
    if (!Read(offset_, &head, sizeof(head)) || !IsHead(head) ||
        !Read(offset_, &head, sizeof(head)) || !IsHead(head)) {
      return false;
    }
    if ((head.flags & logformat::kPacketOverwritten) == 0) break;
    offset_ += head.packet_bits / 8;
  }
  head_ = head;
  if (head.discarded > discarded_) NoteLoss(head.begin_ns, out);
  discarded_ = head.discarded;
  in_packet_ = true;
  at_ = kPacketHeadBytes;
  last_ns_ = head.begin_ns;
  waiting_at_ = 0;
  skip_holes_ = false;
  return true;
}

void StreamFollower::LeavePacket() {
  offset_ += head_.packet_bits / 8;
  in_packet_ = false;
}

bool StreamFollower::IsNextPacketThere() {
  PacketHead next;
  return Read(offset_ + head_.packet_bits / 8, &next, sizeof(next)) &&
         IsHead(next);
}

// `seen` was read before `records`: if a header word in it is not 0, the whole
// record is in `records`.
std::size_t StreamFollower::Walk(const WatchedStream& watched,
                                 const std::byte* seen,
                                 const std::byte* records, std::size_t size,
                                 bool open, std::vector<WatchedRecord>& out) {
  const std::uint16_t* const fixed = watched.table->fixed_bytes();
  const bool has_holes = open && class_ == StreamClass::kThread;
  std::size_t at = 0;
  while (at + logformat::kRecordAlignBytes <= size) {
    if (open && LoadWord(seen + at) == 0) {
      if (!skip_holes_) break;
      at += logformat::kRecordAlignBytes;
      continue;
    }
    const std::uint64_t word = LoadWord(records + at);
    const std::uint16_t id = logformat::HeaderEventId(word);
    if (has_holes && id == logformat::kEventHole) {
      const std::uint64_t bytes = word >> 16;
      if (!skip_holes_ || bytes == 0 ||
          bytes % logformat::kRecordAlignBytes != 0 || bytes > size - at) {
        break;
      }
      at += bytes;
      continue;
    }
    std::size_t bytes = fixed[id];
    if (bytes == RecordTable::kVariable) {
      bytes = watched.table->Measure(id, records + at, size - at).padded_bytes;
    }
    if (bytes == RecordTable::kUnknown || bytes > size - at) break;
    last_ns_ = logformat::TimeAfter(last_ns_, word).time_ns;
    ++records_;
    if (watched.watched[id]) Note(watched, id, {records + at, bytes}, out);
    at += bytes;
  }
  return at;
}

// Handles the case that nothing can be read at `at_` now. Possible reasons: no
// record yet; a reserved record; a hook that was registered after the table was
// made; damage.
StreamFollower::Step StreamFollower::AtRest(std::uint64_t now_ns, bool closed,
                                            std::size_t bytes_left) {
  if (waiting_at_ != at_) {
    waiting_at_ = at_;
    waiting_since_ns_ = now_ns;
  }
  if (now_ns < waiting_since_ns_ + kPatienceNs) return Step::kFrontier;
  waiting_since_ns_ = now_ns;
  if (!closed) {
    if (!IsNextPacketThere()) return Step::kFrontier;
    if (!skip_holes_) {
      skip_holes_ = true;
      return Step::kMore;
    }
  }
  skipped_bytes_ += bytes_left;
  return Step::kPacketDone;
}

StreamFollower::Step StreamFollower::ReadSome(const WatchedStream& watched,
                                              std::uint64_t now_ns,
                                              std::size_t most_bytes,
                                              FollowBuffers& buffers,
                                              std::size_t& bytes,
                                              std::vector<WatchedRecord>& out) {
  // Read before the records: data below a stored content size is complete.
  PacketHead head;
  if (!Read(offset_, &head, sizeof(head)) || !IsHead(head)) {
    return Step::kFrontier;
  }
  head_ = head;
  const bool closed = head.content_bits != 0;
  // The content may end with a text, in the middle of a word.
  const std::uint64_t words = (head.content_bits + 63) / 64;
  const std::uint64_t end =
      closed ? std::min(words * 8, head.packet_bits / 8) : head.packet_bits / 8;
  if (at_ >= end) {
    return closed ? Step::kPacketDone : AtRest(now_ns, closed, 0);
  }
  const std::size_t left = end - at_;
  std::byte* const first = buffers.first.data();
  if (!closed) {
    const std::size_t probe = std::min(left, kProbeBytes);
    if (!Read(offset_ + at_, first, probe)) return Step::kFrontier;
    if (LoadWord(first) == 0 && !skip_holes_) {
      return AtRest(now_ns, closed, 0);
    }
  }
  const std::size_t size =
      std::min({left, std::max(most_bytes, kChunkBytes), buffers.first.size()});
  if (!Read(offset_ + at_, first, size)) return Step::kFrontier;
  const std::byte* records = first;
  if (!closed) {
    records = buffers.second.data();
    if (!Read(offset_ + at_, buffers.second.data(), size) ||
        !Read(offset_, &head, sizeof(head)) || !IsHead(head)) {
      return Step::kFrontier;
    }
    // The packet was left meanwhile: its rest may already belong to another
    // packet.
    if (head.content_bits != 0) return Step::kMore;
  }
  const std::size_t walked = Walk(watched, first, records, size, !closed, out);
  at_ += walked;
  bytes += walked;
  if (walked == size) return Step::kMore;
  const bool cut = size < left && size - walked < logformat::kMaxRecordBytes;
  if (cut && walked > 0) return Step::kMore;
  return AtRest(now_ns, closed, left - walked);
}

bool StreamFollower::Follow(const WatchedStream& watched, std::uint64_t now_ns,
                            std::uint64_t overwritten_to,
                            std::size_t most_bytes, FollowBuffers& buffers,
                            std::vector<WatchedRecord>& out) {
  buffers.first.resize(kChunkBytes * 4);
  buffers.second.resize(kChunkBytes * 4);
  if (!file_.is_open()) {
    file_ = base::ScopedFd(
        open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    open_error_ = file_.is_open() ? 0 : errno;
    if (!file_.is_open()) return true;
  }
  if (offset_ < overwritten_to) {
    skipped_bytes_ += overwritten_to - offset_ - (in_packet_ ? at_ : 0);
    NoteLoss(last_ns_, out);
    offset_ = overwritten_to;
    in_packet_ = false;
  }
  std::size_t bytes = 0;
  while (bytes < most_bytes) {
    if (!in_packet_ && !EnterPacket(out)) return true;
    switch (
        ReadSome(watched, now_ns, most_bytes - bytes, buffers, bytes, out)) {
      case Step::kFrontier:
        return true;
      case Step::kPacketDone:
        LeavePacket();
        break;
      case Step::kMore:
        break;
    }
  }
  return false;
}

}  // namespace countrace::runtime
