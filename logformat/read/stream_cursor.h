// Reads one scanned stream record by record: the decoder behind TraceReader.
//
// In: a StreamScan over a mapped file. Out: items in time order, into a sink.
// Thread: one cursor, one thread.
#ifndef COUNTRACE_LOGFORMAT_READ_STREAM_CURSOR_H_
#define COUNTRACE_LOGFORMAT_READ_STREAM_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/posix/file_mapping.h"
#include "logformat/progress.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/read/record_walk.h"
#include "logformat/records.h"

namespace countrace::logformat {

// A stream file after the scan, ready to be read.
struct OpenStream {
  StreamInfo info;
  base::FileMapping mapping;
  StreamScan scan;
  const RecordTable* table = nullptr;
  std::size_t thread_counters = 0;  // u64 values in a thread dump
  // Dumps of cpu streams begin with their event set, as dumps of threads do.
  bool cpu_dump_heads = false;
  bool has_checksums = false;  // of a finished trace: each packet has one
};

// State that all cursors of one read share.
struct ReadState {
  ItemSink* sink = nullptr;
  std::uint64_t trace_begin_ns = 0;
  std::uint64_t trace_end_ns = 0;
  ProgressCallback progress;
  std::uint64_t total_bytes = 0;
  // Size of the pieces in which pages of a stream are released: a system call
  // for each packet would cost more than decoding it.
  std::size_t release_bytes = std::size_t{1} << 20;
  std::uint64_t done_bytes = 0;
  bool cancelled = false;
};

class StreamCursor {
 public:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  // `stream` and `state` must outlive the cursor.
  StreamCursor(const OpenStream& stream, std::uint32_t index, ReadState& state);

  // Time of the next item, kEnd if there is none.
  std::uint64_t next_ns() const { return next_ns_; }
  StreamClass stream_class() const { return record_.stream_class; }

  // Delivers all items before `limit_ns`. Returns early when cancelled.
  // Requires: a kCpu stream.
  void Deliver(std::uint64_t limit_ns) {
    if (in_records_ && !DeliverCpuRecords(limit_ns)) return;
    DeliverSlowly(limit_ns);
  }

  // Delivers the next items before `limit_ns`, from one packet at most; all
  // belong to one thread. Requires: a kThread stream.
  void DeliverRun(std::uint64_t limit_ns);

 private:
  using Loss = std::variant<DiscardedEvents, DiscardedPackets>;

  void DeliverSlowly(std::uint64_t limit_ns);
  bool DeliverLosses(std::uint64_t limit_ns);
  // Return: false if they stopped at `limit_ns`, before the packet's end.
  bool DeliverRecords(std::uint64_t limit_ns) {
    return record_.stream_class == StreamClass::kThread
               ? DeliverThreadRecords(limit_ns)
               : DeliverCpuRecords(limit_ns);
  }
  bool DeliverCpuRecords(std::uint64_t limit_ns);
  bool DeliverThreadRecords(std::uint64_t limit_ns);
  bool OpenPacket();
  // Whether the open packet's bytes are those of its checksum.
  bool PacketIsDamaged();
  void ClosePacket();
  void QueueFindings(const std::vector<ScanFinding>& findings,
                     std::uint64_t end_ns);
  void QueuePacketLoss(std::uint64_t packets, std::uint64_t offset,
                       const std::string& what, std::uint64_t end_ns);
  std::uint64_t NextPacketNs(std::size_t packet) const;
  void ReleasePages();

  void NoteDamage(const std::byte* at, std::uint16_t event_id);

  // --- Members that each record uses, together ----------------------------
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint64_t last_ns_ = 0;
  std::uint64_t next_ns_ = 0;
  const std::uint16_t* fixed_bytes_;  // of the record table
  ItemSink* sink_;
  std::uint32_t packet_present_ = 0;
  bool cpu_dump_heads_ = false;
  bool in_records_ = false;  // a packet is open and no loss comes before it
  // Successive records have the same length: the position of the next one does
  // not depend on this one's header.
  bool alike_ = true;
  EventRecord record_{};

  // --- Members that each packet uses ---------------------------------------
  const OpenStream* stream_;
  ReadState* state_;
  std::uint32_t index_;
  std::size_t dump_bytes_;  // header word and dump of a thread record
  std::size_t packet_ = 0;  // index in the scan: the open packet or the next
  bool in_packet_ = false;
  bool unreadable_ = false;         // the open packet: neither head nor records
  std::uint64_t clock_errors_ = 0;  // in the open packet
  std::string damage_;              // of the open packet
  std::vector<Loss> losses_;        // to be delivered before anything else
  std::size_t next_loss_ = 0;
  std::array<std::uint64_t, kDiscardCauses> discarded_{};  // reported so far
  std::size_t released_bytes_ = 0;
  std::size_t released_before_ = 0;  // the end of the piece before that
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_STREAM_CURSOR_H_
