// More than 400 lines: one class, which maps, closes and counts packets.
#include "logformat/write/packet_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "absl/strings/str_format.h"
#include "logformat/packet_checksum.h"
#include "logformat/zero_blocks.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace countrace::logformat {
namespace {

// Time after a failed allocation before the next attempt.
constexpr std::uint64_t kRetryNs = 100'000'000;
// Two records this far apart do not share a packet: the 48-bit time of the
// event header would make it look like a step back (packet_layout.h).
constexpr std::uint64_t kMaxStepNs = std::uint64_t{1} << (kTimeBits - 1);

DiscardCause CauseOf(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO
             ? DiscardCause::kDiskFull
             : DiscardCause::kNoResource;
}

std::size_t RoundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

// A packet of the file that is mapped for writing.
struct MappedPacket {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  PacketHead* head() const { return reinterpret_cast<PacketHead*>(data); }
  void Unmap() {
    if (data != nullptr) munmap(data, bytes);
    data = nullptr;
  }
};

//   (no packet) --(Append)--> open
//   open --(full, long step, loss, new identity)--> closed
//
// The head page of the last closed packet stays mapped, because losses between
// two packets are counted in the head of the earlier one.
struct PacketWriter::Impl {
  PacketWriterOptions options;
  std::string path;
  int fd = -1;

  MappedPacket open;                 // data == nullptr: no packet is open
  std::size_t used_bytes = 0;        // of the open packet
  std::size_t padding_bytes = 0;     // behind its last record
  MappedPacket last_closed;          // head page only
  std::uint64_t file_end = 0;        // end of the last closed packet
  std::uint64_t file_bytes = 0;      // length of the file, at least file_end
  std::uint32_t sequence = 0;        // of the next packet
  std::uint64_t last_time_ns = 0;    // of Append(), stored or discarded
  std::uint64_t last_record_ns = 0;  // of the last stored record

  std::array<std::uint64_t, kDiscardCauses> discarded{};  // cumulative
  std::array<std::uint64_t, kDiscardCauses> unplaced{};
  std::uint64_t retry_ns = 0;  // no allocation before this record time
  int failed_errno = 0;        // of the last failed allocation
  DiscardCause failed_cause = DiscardCause::kDiskFull;
  std::uint64_t records = 0;
  std::uint64_t clock_errors = 0;

  ~Impl() { Abandon(); }

  int CutAt(std::uint64_t bytes);
  int Map(std::uint64_t offset, std::size_t bytes, MappedPacket& out);
  void InitHead(PacketHead& head, std::uint64_t begin_ns,
                std::size_t packet_bytes);
  void FinishHead(PacketHead& head, std::uint64_t end_ns,
                  std::size_t content_bytes, std::size_t packet_bytes);
  int WriteEmptyPacket(std::uint64_t time_ns);
  int PlaceEarlyLosses();
  int Open(std::uint64_t time_ns);
  void ClosePacket();
  void KeepHead(MappedPacket& closed);
  void StoreDiscarded(PacketHead& head);
  void Discard(DiscardCause cause, std::uint64_t count);
  void Abandon();
};

int PacketWriter::Impl::CutAt(std::uint64_t bytes) {
  // Only if needed: when a truncated file is closed, ext4 writes it back.
  if (file_bytes <= bytes) return 0;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return errno;
  file_bytes = bytes;
  return 0;
}

// Writes, maps and makes resident one packet of zeros.
int PacketWriter::Impl::Map(std::uint64_t offset, std::size_t bytes,
                            MappedPacket& out) {
  // A shortened earlier packet may have left bytes of a prepared one here.
  if (const int error = CutAt(offset)) return error;
  file_bytes = offset + bytes;
  if (const int error = WriteZeros(fd, offset, bytes)) {
    (void)CutAt(offset);  // releases what was written before the error
    return error;
  }
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    static_cast<off_t>(offset));
  if (data == MAP_FAILED) return errno;
  if (madvise(data, bytes, MADV_POPULATE_WRITE) != 0) {
    const int error = errno;
    // Older kernels do not support the advice; the blocks are allocated.
    if (error != EINVAL) {
      munmap(data, bytes);
      // The kernel reports a page that cannot be written back as EFAULT.
      return error == EFAULT ? ENOSPC : error;
    }
  }
  out = {.data = static_cast<std::byte*>(data), .bytes = bytes};
  return 0;
}

void PacketWriter::Impl::StoreDiscarded(PacketHead& head) {
  const PacketHead before = head;
  // Killed between the two stores, it leaves a packet without a checksum.
  head.checksum = 0;
  std::atomic_signal_fence(std::memory_order_release);
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    head.discarded_by_cause[i] = discarded[i];
  }
  head.discarded =
      std::accumulate(discarded.begin(), discarded.end(), std::uint64_t{0});
  std::atomic_signal_fence(std::memory_order_release);
  if (before.checksum != 0) head.checksum = ChangedChecksum(before, head);
}

void PacketWriter::Impl::InitHead(PacketHead& head, std::uint64_t begin_ns,
                                  std::size_t packet_bytes) {
  head.magic = kPacketMagic;
  std::memcpy(head.uuid, options.uuid.data(), sizeof(head.uuid));
  head.stream_class = static_cast<std::uint32_t>(options.stream_class);
  head.begin_ns = begin_ns;
  head.end_ns = begin_ns;
  head.content_bits = 0;
  head.packet_bits = packet_bytes * 8;
  head.sequence = sequence;
  StoreDiscarded(head);
  head.monotonic_begin = begin_ns;
  head.monotonic_end = begin_ns;
  head.cpu = options.cpu;
  head.pid = options.pid;
  head.tid = options.tid;
  head.mmcr = options.mmcr;
  head.present = options.present;
}

void PacketWriter::Impl::FinishHead(PacketHead& head, std::uint64_t end_ns,
                                    std::size_t content_bytes,
                                    std::size_t packet_bytes) {
  head.end_ns = end_ns;
  head.monotonic_end = end_ns;
  head.packet_bits = packet_bytes * 8;
  // Last: content_bits marks the packet as closed. The fence keeps the compiler
  // from storing it earlier, which is enough if the process is killed.
  std::atomic_signal_fence(std::memory_order_release);
  head.content_bits = content_bytes * 8;
  std::atomic_signal_fence(std::memory_order_release);
  head.checksum = PacketChecksum(head, &head + 1);
}

void PacketWriter::Impl::KeepHead(MappedPacket& closed) {
  last_closed.Unmap();
  if (closed.bytes > kPacketAlignBytes) {
    munmap(closed.data + kPacketAlignBytes, closed.bytes - kPacketAlignBytes);
  }
  last_closed = {.data = closed.data, .bytes = kPacketAlignBytes};
  closed.data = nullptr;
}

int PacketWriter::Impl::WriteEmptyPacket(std::uint64_t time_ns) {
  MappedPacket packet;
  if (const int error = Map(file_end, kPacketAlignBytes, packet)) return error;
  InitHead(*packet.head(), time_ns, kPacketAlignBytes);
  FinishHead(*packet.head(), time_ns, kPacketHeadBytes, kPacketAlignBytes);
  file_end += kPacketAlignBytes;
  ++sequence;
  KeepHead(packet);
  return 0;
}

// babeltrace2 cannot report the number of lost events if the first packet of a
// stream counts any. So the first packet counts 0 and an empty second one holds
// the losses: by our rule the same position in the stream.
int PacketWriter::Impl::PlaceEarlyLosses() {
  if (sequence == 0) {
    if (std::all_of(unplaced.begin(), unplaced.end(),
                    [](std::uint64_t n) { return n == 0; })) {
      return 0;
    }
    const auto all = discarded;
    discarded.fill(0);
    const int error = WriteEmptyPacket(last_time_ns);
    discarded = all;
    if (error != 0) return error;
  }
  if (sequence == 1 && last_closed.head()->discarded == 0 &&
      std::any_of(unplaced.begin(), unplaced.end(),
                  [](std::uint64_t n) { return n != 0; })) {
    const int error = WriteEmptyPacket(last_time_ns);
    // Fallback: the first packet, for which babeltrace2 shows no number.
    if (error != 0) StoreDiscarded(*last_closed.head());
    unplaced.fill(0);
    if (error != 0) return error;
  } else if (sequence == 1 && last_closed.head()->discarded != 0) {
    PacketHead& first = *last_closed.head();
    MappedPacket kept = last_closed;
    last_closed.data = nullptr;  // still needed after the next packet is kept
    const int error = WriteEmptyPacket(first.end_ns);
    if (error != 0) {
      last_closed = kept;
      return error;
    }
    const auto all = discarded;
    discarded.fill(0);
    StoreDiscarded(first);
    discarded = all;
    kept.Unmap();
  }
  return 0;
}

int PacketWriter::Impl::Open(std::uint64_t time_ns) {
  if (const int error = PlaceEarlyLosses()) return error;
  if (const int error = Map(file_end, options.packet_bytes, open)) return error;
  InitHead(*open.head(), time_ns, options.packet_bytes);
  used_bytes = kPacketHeadBytes;
  padding_bytes = 0;
  last_record_ns = time_ns;
  return 0;
}

void PacketWriter::Impl::ClosePacket() {
  if (open.data == nullptr) return;
  const std::size_t packet_bytes = RoundUp(used_bytes, kPacketAlignBytes);
  FinishHead(*open.head(), last_record_ns, used_bytes - padding_bytes,
             packet_bytes);
  file_end += packet_bytes;
  ++sequence;
  KeepHead(open);
}

void PacketWriter::Impl::Discard(DiscardCause cause, std::uint64_t count) {
  const auto i = static_cast<std::size_t>(cause);
  discarded[i] += count;
  if (last_closed.data != nullptr) {
    StoreDiscarded(*last_closed.head());
    unplaced.fill(0);
  } else {
    unplaced[i] += count;
  }
}

void PacketWriter::Impl::Abandon() {
  open.Unmap();
  last_closed.Unmap();
  if (fd >= 0) close(fd);
  fd = -1;
}

PacketWriter::PacketWriter(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

PacketWriter::~PacketWriter() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<PacketWriter>> PacketWriter::Create(
    const PacketWriterOptions& options) {
  if (options.packet_bytes % kPacketAlignBytes != 0 ||
      options.packet_bytes < 2 * kPacketAlignBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Cannot create stream %s: packet-bytes=%d is not a multiple of %d or "
        "less than %d",
        options.file, options.packet_bytes, kPacketAlignBytes,
        2 * kPacketAlignBytes));
  }
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->path = options.directory + "/" + options.file;
  impl->fd = options.fd;
  if (impl->fd < 0) {
    impl->fd = open(impl->path.c_str(),
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  }
  if (impl->fd < 0) {
    const int error = errno;
    return absl::ErrnoToStatus(
        error, absl::StrFormat("Cannot create stream file %s", impl->path));
  }
  return std::unique_ptr<PacketWriter>(new PacketWriter(std::move(impl)));
}

bool PacketWriter::Append(std::uint16_t event_id, std::uint64_t time_ns,
                          std::span<const std::byte> body) {
  Impl& w = *impl_;
  if (time_ns < w.last_time_ns) {
    time_ns = w.last_time_ns;
    ++w.clock_errors;
  }
  w.last_time_ns = time_ns;
  const std::size_t exact_bytes = sizeof(std::uint64_t) + body.size();
  const std::size_t bytes = RoundUp(exact_bytes, kRecordAlignBytes);
  if (w.fd < 0 || bytes > kMaxRecordBytes) {
    w.Discard(DiscardCause::kNoResource, 1);
    return false;
  }
  if (w.open.data != nullptr && (w.used_bytes + bytes > w.open.bytes ||
                                 time_ns - w.last_record_ns >= kMaxStepNs)) {
    w.ClosePacket();
  }
  if (w.open.data == nullptr) {
    if (time_ns < w.retry_ns) {
      w.Discard(w.failed_cause, 1);
      return false;
    }
    if (const int error = w.Open(time_ns)) {
      w.failed_errno = error;
      w.failed_cause = CauseOf(error);
      w.retry_ns = time_ns + kRetryNs;
      w.Discard(w.failed_cause, 1);
      return false;
    }
    w.retry_ns = 0;
  }
  std::byte* at = w.open.data + w.used_bytes;
  if (!body.empty()) std::memcpy(at + 8, body.data(), body.size());
  // The word is stored last: a record cut by a kill stays invisible.
  std::atomic_signal_fence(std::memory_order_release);
  const std::uint64_t word = HeaderWord(event_id, time_ns);
  std::memcpy(at, &word, sizeof(word));
  w.used_bytes += bytes;
  w.padding_bytes = bytes - exact_bytes;
  w.last_record_ns = time_ns;
  ++w.records;
  return true;
}

void PacketWriter::CountDiscarded(DiscardCause cause, std::uint64_t records) {
  if (records == 0) return;
  impl_->ClosePacket();
  impl_->Discard(cause, records);
}

bool PacketWriter::BeginPacket(std::uint64_t time_ns) {
  Impl& w = *impl_;
  if (w.fd < 0) return false;
  w.ClosePacket();
  w.last_time_ns = std::max(w.last_time_ns, time_ns);
  const int error = w.Open(w.last_time_ns);
  if (error != 0) w.failed_errno = error;
  return error == 0;
}

void PacketWriter::EndPacket(std::uint64_t time_ns) {
  Impl& w = *impl_;
  if (w.open.data == nullptr) return;
  w.last_time_ns = std::max(w.last_time_ns, time_ns);
  w.last_record_ns = w.last_time_ns;
  w.ClosePacket();
}

bool PacketWriter::Mark(std::uint64_t time_ns) {
  Impl& w = *impl_;
  if (w.fd < 0) return false;
  w.ClosePacket();
  w.last_time_ns = std::max(w.last_time_ns, time_ns);
  int error = w.PlaceEarlyLosses();
  if (error == 0) error = w.WriteEmptyPacket(w.last_time_ns);
  if (error != 0) w.failed_errno = error;
  return error == 0;
}

void PacketWriter::CountLostPackets(std::uint64_t packets,
                                    std::uint64_t time_ns) {
  Impl& w = *impl_;
  if (packets == 0) return;
  // A gap begins behind a packet; with a first packet no empty one is needed.
  if (w.sequence + (w.open.data != nullptr ? 1 : 0) == 0) {
    if (!Mark(time_ns)) return;
  }
  w.ClosePacket();
  // Losses of the first packet need a second packet, before the gap.
  if (w.sequence == 1) (void)w.PlaceEarlyLosses();
  const std::uint32_t room =
      kMaxSequenceGap - std::min(kMaxSequenceGap, w.sequence);
  w.sequence +=
      static_cast<std::uint32_t>(std::min<std::uint64_t>(packets, room));
}

void PacketWriter::SetPacketIdentity(std::int32_t pid, std::int32_t tid,
                                     std::uint32_t mmcr,
                                     std::uint32_t present) {
  impl_->ClosePacket();
  impl_->options.pid = pid;
  impl_->options.tid = tid;
  impl_->options.mmcr = mmcr;
  impl_->options.present = present;
}

absl::Status PacketWriter::Close() {
  Impl& w = *impl_;
  if (w.fd < 0) return absl::OkStatus();
  w.ClosePacket();
  // Best effort: if it fails the losses stay in unplaced_discarded() or in the
  // first packet. Without any time they have no position.
  if (w.last_time_ns != 0) (void)w.PlaceEarlyLosses();
  const int cut = w.CutAt(w.file_end);
  w.Abandon();
  if (cut == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(
      cut, absl::StrFormat("Cannot cut stream file %s to %d bytes", w.path,
                           w.file_end));
}

void PacketWriter::Abandon() { impl_->Abandon(); }

std::uint64_t PacketWriter::records() const { return impl_->records; }
std::uint64_t PacketWriter::discarded() const {
  return std::accumulate(impl_->discarded.begin(), impl_->discarded.end(),
                         std::uint64_t{0});
}
std::array<std::uint64_t, kDiscardCauses> PacketWriter::unplaced_discarded()
    const {
  return impl_->unplaced;
}
int PacketWriter::last_errno() const { return impl_->failed_errno; }
std::uint64_t PacketWriter::clock_errors() const { return impl_->clock_errors; }
std::uint64_t PacketWriter::packets() const {
  return impl_->sequence + (impl_->open.data != nullptr ? 1 : 0);
}
std::uint64_t PacketWriter::bytes() const {
  return impl_->file_end +
         (impl_->open.data != nullptr ? impl_->used_bytes : 0);
}

}  // namespace countrace::logformat
