// The items of a trace: records and losses, and the sink that receives them.
#ifndef COUNTRACE_LOGFORMAT_RECORDS_H_
#define COUNTRACE_LOGFORMAT_RECORDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "logformat/packet_layout.h"

namespace countrace::logformat {

// One committed record; the fields of its fixed layout are decoded.
struct EventRecord {
  std::uint64_t time_ns;  // CLOCK_MONOTONIC
  std::uint32_t stream;   // index into TraceReader::streams()
  StreamClass stream_class;
  std::uint16_t event_id;  // as stored
  std::int32_t cpu;        // kCpu streams, else -1
  std::int32_t pid, tid;   // kThread streams, else -1
  std::uint32_t mmcr;      // of the dump, or of the packet
  std::uint32_t present;   // values present (0 if no dump)
  // The values of a dump (event_sets.h maps them to events), cumulative; null
  // if no dump.
  const std::uint64_t* counters;
  // Whole record, header word included. kCpu: cast by CpuEvent.
  std::span<const std::byte> bytes;
  // Payload bytes of an enter or point hook (FORMAT.md 4.2).
  std::span<const std::byte> payload;
};

// A thread's record as it is stored: the sink decodes its dump, and what all
// records of the run have in common, if it needs them.
struct ThreadRecord {
  std::uint64_t time_ns;
  const std::byte* at;  // header word, dump if the id says so, payload
  std::uint32_t bytes;
  std::uint16_t event_id;
  std::uint16_t head_bytes;  // before the payload

  // Requires: it has a dump.
  ThreadDump dump() const {
    ThreadDump values;
    std::memcpy(&values, at + sizeof(std::uint64_t), sizeof(values));
    return values;
  }
  const std::uint64_t* counters() const {
    return reinterpret_cast<const std::uint64_t*>(at + sizeof(std::uint64_t) +
                                                  sizeof(ThreadDump));
  }
};

// `record` of a run whose records share `head`.
inline EventRecord RecordOfRun(const EventRecord& head,
                               const ThreadRecord& record) {
  EventRecord out = head;
  out.time_ns = record.time_ns;
  out.event_id = record.event_id;
  out.bytes = {record.at, record.bytes};
  out.payload = out.bytes.subspan(record.head_bytes);
  out.present = 0;
  out.counters = nullptr;
  if ((record.event_id & kEventDumpBit) != 0) {
    const ThreadDump dump = record.dump();
    out.mmcr = dump.mmcr;
    out.present = dump.present;
    out.counters = record.counters();
  }
  return out;
}

// Records lost after the previous item of `stream` and before its next one.
// `begin_ns`/`end_ns` bound the time of the loss.
struct DiscardedEvents {
  std::uint32_t stream;
  StreamClass stream_class;
  std::int32_t cpu, pid, tid;
  std::uint64_t begin_ns, end_ns;
  std::uint64_t count;  // since the last DiscardedEvents of this stream
  std::array<std::uint64_t, kDiscardCauses> by_cause;
  // A flight recording overwrote them, with all that was lost in their time.
  bool overwritten;
};

// Packets missing or unreadable between two packets of a stream (gap in
// `sequence`, bad head, cut tail). The number of records in them is not known.
// A packet whose rest is unreadable counts as one. `packets` is 0 if only a
// time or a count of the head is wrong; the records were still delivered.
struct DiscardedPackets {
  std::uint32_t stream;
  StreamClass stream_class;
  std::int32_t cpu, pid, tid;
  std::uint64_t begin_ns, end_ns;
  std::uint64_t packets;
  std::string reason;  // the defect and where (file, offset), both numbers
};

// Receives items in the order (time_ns, stream, position). References are valid
// during the call only.
class ItemSink {
 public:
  virtual ~ItemSink() = default;
  // True: the sink handles each thread separately, and accepts an order that is
  // cheaper to read. Items of kCpu streams still come after all items of
  // kThread streams that precede them in time, and before all others. Between
  // two of them come runs of records, each of one thread, in the order of their
  // first records. A thread's own items are always in time order.
  virtual bool TakesThreadRuns() const { return false; }
  virtual void OnRecord(const EventRecord& record) = 0;
  // Successive records of one thread and one packet; without TakesThreadRuns()
  // no item of another stream lies between them. `head`: their stream, pid, tid
  // and the packet's mmcr.
  virtual void OnThreadRecords(const EventRecord& head,
                               std::span<const ThreadRecord> records) {
    for (const ThreadRecord& record : records) {
      OnRecord(RecordOfRun(head, record));
    }
  }
  virtual void OnDiscardedEvents(const DiscardedEvents& loss) = 0;
  virtual void OnDiscardedPackets(const DiscardedPackets& loss) = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_RECORDS_H_
