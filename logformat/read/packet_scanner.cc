// More than 400 lines: one class, a check for each rule of a packet.
#include "logformat/read/packet_scanner.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/packet_checksum.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {
namespace {

constexpr std::uint64_t kMaxSequence = 0xffffffff;

bool IsZero(std::span<const std::byte> bytes) {
  static constexpr std::byte kZeros[4096] = {};
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), sizeof(kZeros));
    if (std::memcmp(bytes.data(), kZeros, n) != 0) return false;
    bytes = bytes.subspan(n);
  }
  return true;
}

// Scans one stream file once. The state is what the next packet must agree
// with.
class Scanner {
 public:
  Scanner(std::span<const std::byte> file, const RecordTable& table,
          const ScanOptions& options)
      : file_(file), table_(table), options_(options) {}

  StreamScan Run() {
    std::size_t at = 0;
    while (at < file_.size() && !ended_ && !IsLate(at)) {
      at = HasHead(at) ? TakePacket(at) : SkipBad(at);
      GiveBackBefore(at);
    }
    Finish();
    return std::move(scan_);
  }

 private:
  void GiveBackBefore(std::size_t at) {
    constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
    if (options_.mapping == nullptr || at - given_back_ < kPieceBytes) return;
    options_.mapping->Forget(given_back_, at);
    given_back_ = at;
  }

  // --- Heads ---------------------------------------------------------------

  // True if a head of this stream with plausible sizes is at `at`. The packet
  // may still reach beyond the end of the file.
  bool HasHead(std::size_t at) const {
    if (file_.size() - at < kPacketHeadBytes) return false;
    const PacketHead head = HeadAt(at);
    const std::uint64_t packet_bytes = head.packet_bits / 8;
    return head.magic == kPacketMagic &&
           std::memcmp(head.uuid, options_.uuid.data(), sizeof(head.uuid)) ==
               0 &&
           head.stream_class ==
               static_cast<std::uint32_t>(options_.stream_class) &&
           head.packet_bits % (kPacketAlignBytes * 8) == 0 &&
           packet_bytes >= kPacketAlignBytes &&
           packet_bytes <= kMaxPacketBytes &&
           head.content_bits <= head.packet_bits &&
           (head.content_bits == 0 ||
            (head.content_bits >= kPacketHeadBytes * 8 &&
             head.content_bits % 8 == 0));
  }

  // The unused part before it was in use when this packet was read.
  bool IsLate(std::size_t at) const {
    return options_.grows && skipped_unused_ && HasHead(at) &&
           HeadAt(at).sequence != next_stored_sequence_;
  }

  PacketHead HeadAt(std::size_t at) const {
    PacketHead head;
    std::memcpy(&head, file_.data() + at, sizeof(head));
    return head;
  }

  // --- Bytes that are not part of a packet -----------------------------------

  // The next page from `at` on that has a head, or the end of the file.
  std::size_t FindHead(std::size_t at) {
    // Pages of holes that were not skipped are no bytes on disk.
    constexpr std::size_t kMostSearchedBytes = std::size_t{1} << 30;
    const std::size_t most =
        options_.mapping == nullptr
            ? file_.size()
            : kMostSearchedBytes + options_.mapping->disk_bytes();
    for (at = NextPage(at); at < file_.size() && !HasHead(at);
         at = NextPage(at + kPacketAlignBytes)) {
      searched_ += kPacketAlignBytes;
      gave_up_ = searched_ > most;
      if (gave_up_) return file_.size();
    }
    return std::min(at, file_.size());
  }

  std::size_t SkipBad(std::size_t at) {
    const std::size_t next = FindHead(at + kPacketAlignBytes);
    // Zeros are sub-buffers that were prepared and not used. A head without
    // records is a sub-buffer whose preparation was interrupted.
    const bool unused =
        !gave_up_ &&
        (next - at <= kPacketHeadBytes
             ? AllZero(at, next)
             : AllZero(at + kPacketHeadBytes, next) && HeadIsTorn(at));
    if (unused) {
      skipped_unused_ = true;
      return next;
    }
    if (options_.grows &&
        (file_.size() - at < kPacketHeadBytes || HeadIsTorn(at))) {
      ended_ = true;
      return file_.size();
    }
    ++scan_.bad_regions;
    ++bad_before_next_;
    pending_.push_back(
        {at, 0,
         absl::StrFormat("bytes %d to %d are not a packet of this stream%s", at,
                         next,
                         gave_up_ ? ", as far as they were searched" : "")});
    return next;
  }

  // The first packet's place from `at` on that is in no hole.
  std::size_t NextPage(std::size_t at) const {
    if (options_.mapping == nullptr || at >= file_.size()) return at;
    const std::size_t data = options_.mapping->NextData(at);
    return std::max(at, data / kPacketAlignBytes * kPacketAlignBytes);
  }

  bool AllZero(std::size_t begin, std::size_t end) const {
    while (options_.mapping != nullptr && begin < end) {
      begin = options_.mapping->NextData(begin);
      if (begin >= end) return true;
      const std::size_t piece =
          std::min(end, begin / kPacketAlignBytes * kPacketAlignBytes +
                            kPacketAlignBytes);
      if (!IsZero(file_.subspan(begin, piece - begin))) return false;
      begin = piece;
    }
    return begin >= end || IsZero(file_.subspan(begin, end - begin));
  }

  // The head at `at` is zero or partly written. A closed head is never torn.
  bool HeadIsTorn(std::size_t at) const { return HeadAt(at).content_bits == 0; }

  // --- Packets ---------------------------------------------------------------

  std::size_t TakePacket(std::size_t at) {
    const PacketHead stored = HeadAt(at);
    const auto packet_bytes = static_cast<std::size_t>(stored.packet_bits / 8);
    const std::size_t present_bytes = std::min(packet_bytes, file_.size() - at);
    ScannedPacket packet;
    packet.offset = at;
    packet.head = stored;
    packet.was_open = stored.content_bits == 0;
    packet.touched_bytes = packet_bytes;
    if (!packet.was_open &&
        (options_.walk_closed || !AgreesWithNeighbours(at, stored))) {
      std::string damage =
          ChecksumDamage(file_, options_.mapping, at, options_.has_checksums);
      if (!damage.empty()) return SkipDamaged(at, std::move(damage));
      packet.checked_by_writer =
          stored.checksum != 0 && (stored.flags & kPacketLateChecksum) == 0;
    }

    FixTimes(packet, at + packet_bytes);
    bool cut = false;  // records behind the last one kept are lost
    const std::size_t body_at = at + kPacketHeadBytes;
    const auto body = file_.subspan(body_at, present_bytes - kPacketHeadBytes);
    if (packet.was_open) {
      // In a hole are no records.
      std::size_t end = options_.mapping == nullptr
                            ? at + present_bytes
                            : options_.mapping->DataEnd(at + present_bytes);
      ended_ = options_.grows;
      // It may have been closed early meanwhile, and the next one begun.
      if (ended_) end = std::min(end, FindHead(at + kPacketAlignBytes));
      cut = WalkOpen(packet, body.first(std::min(
                                 body.size(), end - std::min(end, body_at))));
      if (packet.record_count == 0 && packet.holes == 0 && !cut &&
          !HasNewLosses(stored)) {
        return SkipUnused(packet, at + present_bytes);
      }
    } else {
      const std::uint64_t claimed = CheckedRecordBytes(stored);
      if (claimed > body.size()) {
        if (!WalkClosed(packet, body)) {
          after_.push_back(
              {at, 0,
               absl::StrFormat("file ends at %d, the packet's content at %d",
                               file_.size(), at + kPacketHeadBytes + claimed)});
        }
        cut = true;
      } else {
        packet.records = body.first(static_cast<std::size_t>(claimed));
        if (options_.walk_closed || end_is_suspect_) {
          cut = WalkClosed(packet, packet.records);
        }
      }
      ended_ = options_.grows && (claimed > body.size() || ends_unknown_);
    }
    if (ended_) {
      cut = false;
      after_.clear();
    } else if (present_bytes < packet_bytes && !cut && !options_.grows) {
      // All records are there; only unused space is missing.
      Note(packet, at,
           absl::StrFormat("file ends at %d, the packet at %d", file_.size(),
                           at + packet_bytes));
    }
    FixLosses(packet);
    FixSequence(packet);
    packet.head_changed =
        std::memcmp(&packet.head, &stored, sizeof(stored)) != 0;
    // These changes show that packets are missing. If they were patched in
    // place one by one, a kill in between would hide the loss from the next
    // run.
    if (!packet.was_open && (packet.head.sequence != stored.sequence ||
                             packet.head.discarded != stored.discarded)) {
      scan_.needs_rewrite = true;
    }
    Keep(std::move(packet));
    if (cut) partial_before_next_ = 1;
    pending_ = std::move(after_);
    after_.clear();
    return at + present_bytes;
  }

  // Neither the head, which says where the packet ends, nor its records can be
  // believed.
  std::size_t SkipDamaged(std::size_t at, std::string damage) {
    ++scan_.bad_regions;
    ++bad_before_next_;
    ++damaged_before_next_;
    pending_.push_back({at, 0, std::move(damage)});
    return FindHead(at + kPacketAlignBytes);
  }

  // What is used of a closed packet's head before its checksum is looked at.
  bool AgreesWithNeighbours(std::size_t at, const PacketHead& head) const {
    constexpr std::uint64_t kClockErrorNs = 1'000'000;
    if (head.sequence != next_stored_sequence_ ||
        head.begin_ns < last_end_ns_ || head.end_ns < head.begin_ns ||
        head.end_ns > head.monotonic_end + kClockErrorNs ||
        HasNewLosses(head)) {
      return false;
    }
    const std::size_t next = at + head.packet_bits / 8;
    if (next >= file_.size()) return next == file_.size();
    return HasHead(next) && HeadAt(next).begin_ns >= head.end_ns &&
           HeadAt(next).sequence == head.sequence + 1;
  }

  void Note(ScannedPacket& packet, std::size_t at, std::string what) {
    packet.findings.push_back({at, 0, std::move(what)});
  }

  // A packet's begin_ns is never before the end of the packet before it, and
  // its end never before its begin. `next`: offset of the next packet.
  void FixTimes(ScannedPacket& packet, std::size_t next) {
    PacketHead& head = packet.head;
    end_is_suspect_ = false;
    if (packet.was_open) {
      const bool unset = scan_.packets.empty() && head.begin_ns == 0;
      const std::uint64_t floor_ns = unset ? options_.begin_ns : last_end_ns_;
      if (head.begin_ns < floor_ns || head.begin_ns > kMaxTimeNs) {
        head.begin_ns = floor_ns;
      }
      return;
    }
    const std::uint64_t floor_ns = last_end_ns_;
    end_is_suspect_ = head.end_ns < head.begin_ns || head.end_ns < floor_ns ||
                      head.end_ns > kMaxTimeNs || NextBeginsBefore(next, head);
    if (head.begin_ns < floor_ns || head.begin_ns > kMaxTimeNs) {
      Note(packet, packet.offset,
           absl::StrFormat("packet begins at %d ns; the packet before it ends "
                           "at %d ns",
                           head.begin_ns, floor_ns));
      head.begin_ns = floor_ns;
    } else if (head.end_ns < head.begin_ns || head.end_ns > kMaxTimeNs) {
      Note(packet, packet.offset,
           absl::StrFormat("packet ends at %d ns, it begins at %d ns",
                           head.end_ns, head.begin_ns));
      // Either may be wrong; the end of the packet before is not. Without one,
      // the high bits of the end are used if they give a valid time.
      const std::uint64_t length_ns = (head.end_ns - head.begin_ns) & kTimeMask;
      if (!scan_.packets.empty()) {
        head.begin_ns = floor_ns;
      } else if (head.end_ns <= kMaxTimeNs) {
        head.begin_ns = head.end_ns - std::min(length_ns, head.end_ns);
      }
    }
  }

  bool NextBeginsBefore(std::size_t next, const PacketHead& head) const {
    if (next >= file_.size() || !HasHead(next)) return false;
    const std::uint64_t begin_ns = HeadAt(next).begin_ns;
    return begin_ns != 0 && begin_ns < head.end_ns;  // 0: not yet set
  }

  bool IsUnknownHook(std::uint64_t word) const {
    const std::uint16_t id = HeaderEventId(word);
    return word != 0 && id != kEventHole &&
           table_.fixed_bytes(id) == RecordTable::kUnknown;
  }

  // Returns: true if the rest of the packet is unreadable.
  bool WalkOpen(ScannedPacket& packet, std::span<const std::byte> body) {
    PacketHead& head = packet.head;
    RecordWalk walk = WalkRecords(table_, body, head.begin_ns, true);
    if (options_.grows) {
      const bool any = !walk.runs.empty() && walk.runs.front().offset == 0;
      walk = WalkRecords(table_, body.first(any ? walk.runs.front().bytes : 0),
                         head.begin_ns, true);
    }
    packet.holes = walk.holes;
    packet.record_count = walk.records;
    packet.touched_bytes = kPacketHeadBytes + walk.touched_bytes;
    ApplyWalk(packet, body, walk);
    head.flags |= kPacketRecovered;
    head.monotonic_end = head.end_ns;
    head.raw_end = 0;
    return !walk.damage.empty();
  }

  bool WalkClosed(ScannedPacket& packet, std::span<const std::byte> body) {
    PacketHead& head = packet.head;
    const std::uint64_t stored_end_ns = head.end_ns;
    RecordWalk walk = WalkRecords(table_, body, head.begin_ns, false);
    ends_unknown_ = !walk.damage.empty() && walk.end_bytes < body.size() &&
                    IsUnknownHook(LoadWord(body.data() + walk.end_bytes));
    packet.record_count = walk.records;
    ApplyWalk(packet, body, walk);
    if (walk.clock_errors != 0) {
      Note(packet, packet.offset,
           absl::StrFormat("%d of %d records go back in time",
                           walk.clock_errors, walk.records));
    }
    if (walk.damage.empty() && walk.records != 0 && !end_is_suspect_ &&
        IsPlausibleEnd(head, walk.last_ns, stored_end_ns)) {
      head.end_ns = stored_end_ns;
    } else if (walk.damage.empty() && walk.records != 0 &&
               stored_end_ns != head.end_ns) {
      Note(packet, packet.offset,
           absl::StrFormat("packet ends at %d ns, its last record is of %d ns",
                           stored_end_ns, head.end_ns));
    }
    // An empty packet may end later than it begins, but not earlier.
    if (walk.records == 0 && walk.damage.empty()) {
      head.end_ns = std::max(stored_end_ns, head.begin_ns);
      if (end_is_suspect_) head.end_ns = head.begin_ns;
    }
    return !walk.damage.empty();
  }

  void ApplyWalk(ScannedPacket& packet, std::span<const std::byte> body,
                 const RecordWalk& walk) {
    PacketHead& head = packet.head;
    head.end_ns = walk.last_ns;
    scan_.cut_texts += walk.cut_texts;
    std::size_t padding = walk.end_bytes - walk.exact_end_bytes;
    if (walk.runs.size() > 1 || walk.clock_errors != 0 ||
        (walk.runs.size() == 1 && walk.runs[0].offset != 0)) {
      packet.rebuilt = CompactRecords(table_, body, walk, head.begin_ns);
      packet.records = packet.rebuilt;
      scan_.needs_rewrite = true;
    } else {
      packet.records = body.first(walk.end_bytes);
    }
    // Exact: babeltrace2 reads padding behind the last record as a record.
    head.content_bits =
        (kPacketHeadBytes + packet.records.size() - padding) * 8;
    if (!walk.damage.empty()) {
      after_.push_back(
          {packet.offset + kPacketHeadBytes + walk.end_bytes, 0, walk.damage});
    }
  }

  // An open packet without records or losses: spare, cut off with the tail.
  std::size_t SkipUnused(ScannedPacket& packet, std::size_t next) {
    // If a later packet is kept, this one's number is not a gap.
    if (packet.head.sequence >= next_stored_sequence_) ++unused_heads_;
    for (ScanFinding& finding : packet.findings) {
      pending_.push_back(std::move(finding));
    }
    return next;
  }

  // --- Loss and sequence -----------------------------------------------------

  bool HasNewLosses(const PacketHead& head) const {
    for (std::size_t i = 0; i < kDiscardCauses; ++i) {
      if (head.discarded_by_cause[i] > stored_discarded_[i]) return true;
    }
    return false;
  }

  void FixLosses(ScannedPacket& packet) {
    PacketHead& head = packet.head;
    std::uint64_t sum = 0;
    bool back = false;
    for (std::size_t i = 0; i < kDiscardCauses; ++i) {
      sum += head.discarded_by_cause[i];
      back = back || head.discarded_by_cause[i] < stored_discarded_[i];
    }
    if (packet.was_open) {
      // The writer had not stored the final counts.
      for (std::size_t i = 0; i < kDiscardCauses; ++i) {
        stored_discarded_[i] =
            std::max(stored_discarded_[i], head.discarded_by_cause[i]);
      }
    } else if (back || sum != head.discarded) {
      Note(packet, packet.offset,
           absl::StrFormat(
               "discarded events %d, sum by cause %d, after %d in "
               "the packet before: not counted",
               head.discarded, sum,
               std::accumulate(stored_discarded_.begin(),
                               stored_discarded_.end(), std::uint64_t{0})));
    } else {
      std::copy_n(head.discarded_by_cause, kDiscardCauses,
                  stored_discarded_.begin());
    }
    holes_ += packet.holes;
    head.discarded = 0;
    for (std::size_t i = 0; i < kDiscardCauses; ++i) {
      head.discarded_by_cause[i] = stored_discarded_[i];
      if (i == static_cast<std::size_t>(DiscardCause::kUncommitted)) {
        head.discarded_by_cause[i] += holes_;
      }
      head.discarded += head.discarded_by_cause[i];
    }
  }

  void FixSequence(ScannedPacket& packet) {
    PacketHead& head = packet.head;
    const std::uint64_t expected = next_stored_sequence_;
    const bool plausible = head.sequence >= expected &&
                           head.sequence - expected <= kMaxSequenceGap;
    std::uint64_t gap = 0;
    if (plausible) {
      gap = head.sequence - expected;
      gap -= std::min(gap, unused_heads_);
    } else if (!packet.was_open || packet.record_count != 0) {
      Note(packet, packet.offset,
           absl::StrFormat("packet sequence number %d, expected %d",
                           head.sequence, expected));
    }
    unused_heads_ = 0;
    next_stored_sequence_ = (plausible ? head.sequence : expected) + 1;
    const std::uint64_t missing = Missing(gap);
    std::vector<ScanFinding> findings = std::move(pending_);
    pending_.clear();
    if (gap != 0) {
      findings.push_back(
          {packet.offset, 0,
           absl::StrFormat("packet sequence number %d, expected %d",
                           head.sequence, expected),
           true});
    }
    if (missing != 0) findings.front().missing_packets = missing;
    std::move(packet.findings.begin(), packet.findings.end(),
              std::back_inserter(findings));
    packet.findings = std::move(findings);
    head.sequence = static_cast<std::uint32_t>(
        std::min(next_sequence_ + missing, kMaxSequence));
    next_sequence_ = std::uint64_t{head.sequence} + 1;
  }

  // Number of packets lost before the next one. A packet whose rest was
  // unreadable counts as one, one with another checksum, too, an unreadable
  // region as at least one.
  std::uint64_t Missing(std::uint64_t gap) {
    const std::uint64_t missing =
        partial_before_next_ +
        std::max({gap, std::min<std::uint64_t>(bad_before_next_, 1),
                  damaged_before_next_});
    partial_before_next_ = 0;
    bad_before_next_ = damaged_before_next_ = 0;
    return missing;
  }

  void Keep(ScannedPacket packet) {
    skipped_unused_ = false;
    last_end_ns_ = packet.head.end_ns;
    scan_.kept_end = packet.offset + packet.head.packet_bits / 8;
    scan_.records += packet.record_count;
    scan_.packets.push_back(std::move(packet));
  }

  void Finish() {
    std::uint64_t gap =
        options_.expected_packets -
        std::min(options_.expected_packets, next_stored_sequence_);
    if (gap != 0) {
      pending_.push_back(
          {file_.size(), 0,
           absl::StrFormat("file ends after packet %d of %d",
                           next_stored_sequence_, options_.expected_packets)});
    }
    if (gap > kMaxSequenceGap) gap = 0;
    const std::uint64_t missing = Missing(gap);
    scan_.findings_at_end = std::move(pending_);
    if (missing != 0) {
      scan_.findings_at_end.front().missing_packets = missing;
      scan_.needs_rewrite = true;
    }
    std::uint64_t end = 0;
    for (const ScannedPacket& packet : scan_.packets) {
      if (packet.offset != end) scan_.needs_rewrite = true;
      end += packet.head.packet_bits / 8;
    }
  }

  const std::span<const std::byte> file_;
  const RecordTable& table_;
  const ScanOptions& options_;
  StreamScan scan_;

  std::size_t given_back_ = 0;
  std::size_t searched_ = 0;  // bytes looked at in search of a head
  bool gave_up_ = false;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t next_stored_sequence_ = 0;  // as the writer numbered
  std::uint64_t next_sequence_ = 0;         // as the scan numbers them
  std::array<std::uint64_t, kDiscardCauses> stored_discarded_{};
  std::uint64_t holes_ = 0;         // all so far
  std::uint64_t unused_heads_ = 0;  // numbered, skipped, since the last packet
  std::uint64_t partial_before_next_ = 0;
  std::uint64_t bad_before_next_ = 0;
  std::uint64_t damaged_before_next_ = 0;  // of them, by their checksums
  bool end_is_suspect_ = false;            // of the current packet
  bool ends_unknown_ = false;              // at a record of an unknown hook
  bool skipped_unused_ = false;            // since the last packet
  bool ended_ = false;                     // what follows came later
  std::vector<ScanFinding> pending_;       // before the next packet
  std::vector<ScanFinding> after_;         // behind the current packet
};

}  // namespace

std::string ChecksumDamage(std::span<const std::byte> file,
                           const base::FileMapping* mapping,
                           std::uint64_t offset, bool has_checksums) {
  PacketHead head;
  std::memcpy(&head, file.data() + offset, sizeof(head));
  if (head.checksum == 0 && !has_checksums) return "";
  const std::span<const std::byte> records =
      file.subspan(offset + kPacketHeadBytes);
  if (CheckedRecordBytes(head) > records.size()) return "";  // the file is cut
  if (mapping != nullptr &&
      mapping->HasHole(offset, offset + head.content_bits / 8)) {
    return absl::StrFormat(
        "packet %d has %d bytes, and a part of them lies in a hole of the file",
        head.sequence, head.content_bits / 8);
  }
  const std::uint32_t found = PacketChecksum(head, records.data());
  if (found == head.checksum) return "";
  return absl::StrFormat("packet %d has checksum %08x, its %d bytes give %08x",
                         head.sequence, head.checksum, head.content_bits / 8,
                         found);
}

StreamScan ScanStream(std::span<const std::byte> file, const RecordTable& table,
                      const ScanOptions& options) {
  return Scanner(file, table, options).Run();
}

}  // namespace countrace::logformat
