#include "logformat/read/stream_cursor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/read/overwritten_packets.h"
#include "logformat/read/record_walk.h"

namespace countrace::logformat {
namespace {

// After this much all pages: pointers into released pages fault some in.
constexpr std::size_t kReleaseAllBytes = 64 << 20;
// Records of a run that the sink receives in one call.
constexpr std::size_t kRunRecords = 128;

}  // namespace

StreamCursor::StreamCursor(const OpenStream& stream, std::uint32_t index,
                           ReadState& state)
    : fixed_bytes_(stream.table->fixed_bytes()),
      sink_(state.sink),
      cpu_dump_heads_(stream.cpu_dump_heads),
      stream_(&stream),
      state_(&state),
      index_(index),
      dump_bytes_(sizeof(std::uint64_t) + sizeof(ThreadDump) +
                  stream.thread_counters * sizeof(std::uint64_t)) {
  record_.stream = index;
  record_.stream_class = stream.info.stream_class;
  // Finds the first item's time without delivering it.
  DeliverSlowly(0);
}

void StreamCursor::DeliverSlowly(std::uint64_t limit_ns) {
  in_records_ = false;
  while (!state_->cancelled) {
    if (!DeliverLosses(limit_ns)) return;
    if (in_packet_) {
      if (!DeliverRecords(limit_ns)) {
        in_records_ = true;
        return;
      }
      ClosePacket();
    } else if (!OpenPacket()) {
      next_ns_ = kEnd;
      return;
    }
  }
}

void StreamCursor::DeliverRun(std::uint64_t limit_ns) {
  if (in_records_) {
    if (!DeliverThreadRecords(limit_ns)) return;
    ClosePacket();
  } else if (!DeliverLosses(limit_ns)) {
    return;
  }
  DeliverSlowly(0);  // the next item and its time
}

// Returns: false if it stopped at `limit_ns`.
bool StreamCursor::DeliverLosses(std::uint64_t limit_ns) {
  for (; next_loss_ < losses_.size(); ++next_loss_) {
    const Loss& loss = losses_[next_loss_];
    next_ns_ = std::visit([](const auto& l) { return l.begin_ns; }, loss);
    if (next_ns_ >= limit_ns) return false;
    if (const auto* events = std::get_if<DiscardedEvents>(&loss)) {
      state_->sink->OnDiscardedEvents(*events);
    } else {
      state_->sink->OnDiscardedPackets(std::get<DiscardedPackets>(loss));
    }
  }
  losses_.clear();
  next_loss_ = 0;
  return true;
}

bool StreamCursor::DeliverCpuRecords(std::uint64_t limit_ns) {
  const std::byte* at = at_;
  const std::byte* const end = end_;
  std::uint64_t last_ns = last_ns_;
  EventRecord& record = record_;
  bool at_end = true;
  while (at != end) {
    __builtin_prefetch(at + 1024);
    const std::uint64_t word = LoadWord(at);
    const std::uint16_t id = HeaderEventId(word);
    const auto left = static_cast<std::size_t>(end - at);
    std::size_t bytes = fixed_bytes_[id];
    if (bytes == RecordTable::kVariable) {
      bytes = stream_->table->Measure(id, at, left).padded_bytes;
    }
    if (bytes == 0 || bytes > left) [[unlikely]] {
      NoteDamage(at, id);
      break;
    }
    const auto [time_ns, back] = TimeAfter(last_ns, word);
    if (time_ns >= limit_ns) {
      next_ns_ = time_ns;
      at_end = false;
      break;
    }
    if (back) [[unlikely]]
      ++clock_errors_;
    record.time_ns = time_ns;
    record.event_id = id;
    record.bytes = {at, bytes};
    const bool dump = id <= static_cast<std::uint16_t>(CpuEvent::kCounters) ||
                      (id & kEventDumpBit) != 0;
    record.present = dump ? packet_present_ : 0;
    record.counters = dump ? reinterpret_cast<const std::uint64_t*>(
                                 at + sizeof(DispatchRecord))
                           : nullptr;
    if (dump && cpu_dump_heads_) [[unlikely]] {
      ThreadDump values;
      std::memcpy(&values, record.counters, sizeof(values));
      record.mmcr = values.mmcr;
      record.present = values.present;
      ++record.counters;
    }
    sink_->OnRecord(record);
    at += bytes;
    last_ns = time_ns;
  }
  at_ = at;
  last_ns_ = last_ns;
  return at_end;
}

bool StreamCursor::DeliverThreadRecords(std::uint64_t limit_ns) {
  const std::uint16_t* const fixed_bytes = fixed_bytes_;
  const auto dump_bytes = static_cast<std::uint16_t>(dump_bytes_);
  const std::byte* at = at_;
  const std::byte* const end = end_;
  std::uint64_t last_ns = last_ns_;
  std::array<ThreadRecord, kRunRecords> run;
  bool at_end = true;
  while (at != end && at_end) {
    std::size_t size = 0, length = 0, lengths = 0;
    const bool alike = alike_;
    while (at != end && size != run.size()) {
      __builtin_prefetch(at + 1024);
      const std::uint64_t word = LoadWord(at);
      const std::uint16_t id = HeaderEventId(word);
      const auto left = static_cast<std::size_t>(end - at);
      std::size_t bytes = fixed_bytes[id];
      if (bytes == RecordTable::kVariable) [[unlikely]] {
        bytes = stream_->table->Measure(id, at, left).padded_bytes;
      }
      if (bytes - 1 >= left) [[unlikely]] {  // or 0
        NoteDamage(at, id);
        break;
      }
      std::uint64_t time_ns = last_ns + TimeStep(last_ns, word);
      if (!IsStep(last_ns, time_ns)) [[unlikely]] {
        time_ns = last_ns;
        if (time_ns < limit_ns) ++clock_errors_;
      }
      if (time_ns >= limit_ns) [[unlikely]] {
        next_ns_ = time_ns;
        at_end = false;
        break;
      }
      const bool dump = (id & kEventDumpBit) != 0;
      run[size++] = {time_ns, at, static_cast<std::uint32_t>(bytes), id,
                     dump ? dump_bytes : std::uint16_t{sizeof(word)}};
      if (!alike) {
        lengths += bytes != length ? 1 : 0;
        length = bytes;
      } else if (bytes != length) [[unlikely]] {
        ++lengths;
        length = bytes;
        // Keeps the compiler from using `bytes`, which stalls the processor.
        asm volatile("" : "+r"(length));
      }
      at += length;
      last_ns = time_ns;
    }
    if (size >= kRunRecords / 4) alike_ = lengths <= size / 16;
    if (size != 0) sink_->OnThreadRecords(record_, {run.data(), size});
    at_ = at;
    last_ns_ = last_ns;
    if (!damage_.empty()) [[unlikely]]
      break;
  }
  return at_end;
}

void StreamCursor::NoteDamage(const std::byte* at, std::uint16_t event_id) {
  const ScannedPacket& packet = stream_->scan.packets[packet_];
  damage_ = absl::StrFormat("%s at record offset %d of %d: event id %d",
                            fixed_bytes_[event_id] == RecordTable::kUnknown
                                ? "unknown event"
                                : "record that does not fit",
                            at - packet.records.data(), packet.records.size(),
                            event_id);
}

// Returns: false if neither a packet nor a loss is left.
bool StreamCursor::OpenPacket() {
  const StreamScan& scan = stream_->scan;
  if (packet_ == scan.packets.size()) {
    if (packet_ == 0) last_ns_ = state_->trace_begin_ns;
    QueueFindings(scan.findings_at_end, state_->trace_end_ns);
    ++packet_;  // once: the next call finds nothing to add
    return !losses_.empty();
  }
  if (packet_ > scan.packets.size()) return false;
  const ScannedPacket& packet = scan.packets[packet_];
  if (packet_ == 0) {
    last_ns_ = std::min(state_->trace_begin_ns, packet.head.begin_ns);
  }
  in_packet_ = true;
  clock_errors_ = 0;
  damage_.clear();
  unreadable_ = PacketIsDamaged();
  if (unreadable_) {
    QueueFindings(packet.findings, NextPacketNs(packet_ + 1));
    at_ = end_ = packet.records.data();
    return true;
  }
  QueueFindings(packet.findings, packet.head.begin_ns);
  // A damaged time may lie beyond the next packet's begin.
  last_ns_ = std::max(last_ns_, packet.head.begin_ns);
  at_ = packet.records.data();
  end_ = at_ + packet.records.size();
  record_.cpu = packet.head.cpu;
  record_.pid = packet.head.pid;
  record_.tid = packet.head.tid;
  record_.mmcr = packet.head.mmcr;
  packet_present_ = packet.head.present;
  record_.present = 0;
  record_.counters = nullptr;
  record_.payload = {};
  return true;
}

bool StreamCursor::PacketIsDamaged() {
  const ScannedPacket& packet = stream_->scan.packets[packet_];
  if (packet.was_open) return false;
  damage_ = ChecksumDamage(stream_->mapping.bytes(), &stream_->mapping,
                           packet.offset, stream_->has_checksums);
  return !damage_.empty();
}

void StreamCursor::ClosePacket() {
  const ScannedPacket& packet = stream_->scan.packets[packet_];
  const PacketHead& head = packet.head;
  in_packet_ = false;
  ++packet_;
  const std::uint64_t next_ns = NextPacketNs(packet_);

  DiscardedEvents loss = {};
  for (std::size_t i = 0; i < kDiscardCauses && !unreadable_; ++i) {
    loss.by_cause[i] = head.discarded_by_cause[i] - discarded_[i];
    loss.count += loss.by_cause[i];
    discarded_[i] = head.discarded_by_cause[i];
  }
  if (loss.count != 0) {
    loss.stream = index_;
    loss.stream_class = stream_->info.stream_class;
    loss.cpu = head.cpu;
    loss.pid = head.pid;
    loss.tid = head.tid;
    loss.begin_ns = last_ns_;
    loss.end_ns = std::max(last_ns_, next_ns);
    loss.overwritten = IsOverwritten(stream_->scan, packet_ - 1);
    if (loss.overwritten) {
      loss.end_ns = std::max(loss.begin_ns,
                             OverwrittenUntilNs(stream_->scan, packet_ - 1));
    }
    losses_.emplace_back(loss);
  }
  if (!damage_.empty()) {
    QueuePacketLoss(1, packet.offset, damage_, next_ns);
  } else if (clock_errors_ != 0) {
    QueuePacketLoss(
        0, packet.offset,
        absl::StrFormat("%d records go back in time", clock_errors_), next_ns);
  } else if (at_ != packet.records.data() &&
             !IsPlausibleEnd(head, last_ns_, head.end_ns)) {
    QueuePacketLoss(
        0, packet.offset,
        absl::StrFormat("packet ends at %d ns, its last record is of %d ns",
                        head.end_ns, last_ns_),
        next_ns);
  }
  state_->done_bytes += head.packet_bits / 8;
  ReleasePages();
  if (state_->progress != nullptr &&
      !state_->progress({state_->done_bytes, state_->total_bytes})) {
    state_->cancelled = true;
  }
}

// A time after everything between the last packet and the next one.
std::uint64_t StreamCursor::NextPacketNs(std::size_t packet) const {
  const StreamScan& scan = stream_->scan;
  if (packet >= scan.packets.size()) return state_->trace_end_ns;
  const ScannedPacket& next = scan.packets[packet];
  if (next.records.empty()) return next.head.begin_ns;
  return TimeAfter(next.head.begin_ns, LoadWord(next.records.data())).time_ns;
}

void StreamCursor::QueueFindings(const std::vector<ScanFinding>& findings,
                                 std::uint64_t end_ns) {
  for (const ScanFinding& finding : findings) {
    QueuePacketLoss(finding.missing_packets, finding.offset, finding.what,
                    end_ns);
  }
}

void StreamCursor::QueuePacketLoss(std::uint64_t packets, std::uint64_t offset,
                                   const std::string& what,
                                   std::uint64_t end_ns) {
  const StreamScan& scan = stream_->scan;
  DiscardedPackets loss = {};
  loss.stream = index_;
  loss.stream_class = stream_->info.stream_class;
  loss.cpu = loss.pid = loss.tid = -1;
  if (!scan.packets.empty()) {
    const PacketHead& head =
        scan.packets[std::min(packet_, scan.packets.size() - 1)].head;
    loss.cpu = head.cpu;
    loss.pid = head.pid;
    loss.tid = head.tid;
  }
  loss.begin_ns = last_ns_;
  loss.end_ns = std::max(last_ns_, end_ns);
  loss.packets = packets;
  loss.reason =
      absl::StrFormat("%s, offset %d: %s", stream_->info.file, offset, what);
  losses_.emplace_back(std::move(loss));
}

// Releases pages that were read: a long trace must not fill the memory.
void StreamCursor::ReleasePages() {
  const ScannedPacket& packet = stream_->scan.packets[packet_ - 1];
  const std::size_t end = packet.offset + packet.head.packet_bits / 8;
  if (end < released_bytes_ + state_->release_bytes) return;
  const bool all = end / kReleaseAllBytes != released_bytes_ / kReleaseAllBytes;
  // Releases the previous piece again: open calls may have touched it.
  stream_->mapping.Forget(all ? 0 : released_before_, end);
  released_before_ = released_bytes_;
  released_bytes_ = end;
}

}  // namespace countrace::logformat
