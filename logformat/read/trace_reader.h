// Reads a countrace trace directory, finished or not, damaged or not: its
// description (TraceInfo) and its records in time order (TraceReader).
//
// In: a trace directory. Out: records, losses. Thread: one reader, one thread.
// CTF traces of other tracers are rejected with a clear error (logformat/import
// converts them). FORMAT.md is the reference.
#ifndef COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_
#define COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/counter_limit.h"
#include "logformat/event_sets.h"
#include "logformat/gating.h"
#include "logformat/packet_layout.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {

// One hook of the trace.
struct HookInfo {
  std::uint32_t id = 0;  // hook id
  HookKind kind = HookKind::kPoint;
  HookOrigin origin = HookOrigin::kProgram;
  std::string provider;
  std::string name;
  // "file:line"; for a kernel hook its attachment ("syscall:0").
  std::string location;
  std::vector<PayloadType> payload;  // types of the enter or point hook
  std::string FullName() const { return provider + ":" + name; }
};

// An instrumented process, with the name it had when it joined.
struct ProcessName {
  std::int32_t pid = 0;
  std::string comm;
};

// A trigger of the recording (`record --trigger`) that fired: it caused a
// snapshot, or ended the recording.
struct TriggerFiring {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC, when its condition became true
  std::string trigger;        // as given, in canonical spelling
  std::string what;           // "server:handle took 23.1 ms in tid 4243"
};

// A trace's description: from `metadata` of a finished trace, from `.session`
// and `.hooks` of an unfinished one.
struct TraceInfo {
  std::string path;
  std::array<std::uint8_t, 16> uuid{};
  std::array<std::uint8_t, 16> boot_id{};  // uuid of the clock; 0: unknown
  SessionScope scope = SessionScope::kHooksOnly;
  std::int32_t root_pid = 0;       // kCommand: first process
  std::optional<Gating> gating;    // what is counted, see GatingOf()
  std::vector<std::string> marks;  // mark_spec.h, in canonical spelling
  std::int32_t recorder_pid = 0;
  std::uint32_t cpus = 0;
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  std::int64_t realtime_offset_ns = 0;
  std::string hostname, kernel_release, command;
  // Time of the kernel recorder's BPF programs, in all threads that ran them:
  // estimated from the `sampled` part of the time. Both 0: not known.
  std::uint64_t own_bpf_ns = 0, own_bpf_sampled_ns = 0;
  // Calibrated cost of one record of a user hook: CPU time of all threads of
  // its process, and in its own thread without and with counters.
  std::uint64_t own_hook_cpu_ps = 0, own_hook_ps = 0;
  std::uint64_t own_hook_dump_ps = 0;      // 0: not known
  std::vector<std::string> cpu_events;     // names, in dump order
  std::vector<std::string> thread_events;  // names, in dump order
  // By event, up to the last one that is narrower than 64 bits.
  std::vector<CounterLimit> cpu_counter_limits, thread_counter_limits;
  // Events of each multiplexed set; empty: all events are always on.
  std::vector<std::size_t> cpu_set_sizes, thread_set_sizes;
  // The perf_event_attr fields of each event; only with multiplexed sets.
  std::vector<std::string> cpu_event_configs, thread_event_configs;
  EventSets cpu_sets() const {
    return {cpu_events.size(), cpu_set_sizes, /*running_slot=*/true};
  }
  EventSets thread_sets() const {
    return {thread_events.size(), thread_set_sizes, /*running_slot=*/false};
  }
  // Which hooks' records carry them, in canonical spelling; empty: all.
  std::vector<std::string> dump_rules;
  // Why the snapshot was taken; in a recording all triggers that fired.
  std::vector<TriggerFiring> triggers;
  // For an imported trace: what recorded it and what read it, its source
  // directories, and the facts they do not contain. Else empty.
  std::string source;
  std::vector<std::string> source_paths, not_known;
  std::vector<HookInfo> hooks;         // ascending by id
  std::vector<ProcessName> processes;  // in the order in which they joined
  const HookInfo* FindHook(std::uint32_t hook_id) const;  // null if unknown
  bool finished = true;    // false: `.incomplete` is present
  bool recording = false;  // `.incomplete` is locked: a recorder is at work
};

// What the trace counts. By default: the processes of a command, which are
// marked; in other modes everything.
Gating GatingOf(const TraceInfo& info);

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

struct StreamInfo {
  std::string file;  // name inside the trace directory
  StreamClass stream_class = StreamClass::kThread;
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
};

// Progress of a long read: `done` of `total` bytes. Return false to stop early;
// Read() then returns CANCELLED, having delivered the items so far.
using ProgressCallback = bool (*)(void* context, std::uint64_t done,
                                  std::uint64_t total);

// A trace opened for reading. Never writes to the directory: an unfinished
// trace is recovered in memory.
class TraceReader {
 public:
  // Returns: NOT_FOUND no such directory; INVALID_ARGUMENT not a countrace
  // trace (the message names the kind and how to read it); DATA_LOSS metadata
  // cannot be read; RESOURCE_EXHAUSTED descriptor or mapping limit. `shown_as`,
  // if not empty, becomes TraceInfo::path: for a trace that was converted from
  // another one.
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(
      const std::string& path, const std::string& shown_as = "");
  virtual ~TraceReader() = default;

  virtual const TraceInfo& info() const = 0;
  virtual const std::vector<StreamInfo>& streams() const = 0;
  // Directory of the files; TraceInfo::path is the name to show.
  virtual const std::string& directory() const { return info().path; }

  // Delivers every item of all streams, once, in the order that `sink` accepts.
  // May be called again. Damage is delivered as DiscardedEvents or
  // DiscardedPackets. Returns: CANCELLED if `progress` returned false.
  virtual absl::Status Read(ItemSink& sink, ProgressCallback progress = nullptr,
                            void* progress_context = nullptr) = 0;

  // True if pointers in records stay valid until Read() returns.
  virtual bool keeps_records() const { return false; }

  // Discarded events of the session that belong to no stream, by cause.
  virtual std::array<std::uint64_t, kDiscardCauses> session_discarded()
      const = 0;
  // errno of the last disk_full or no_resource discard, 0 if none.
  virtual std::uint32_t session_last_errno() const = 0;
  // Times a thread had to make its own sub-buffer resident (slow, no loss).
  virtual std::uint32_t late_sub_buffers() const = 0;
  // Parts of the trace's description that could not be read, for the user.
  virtual const std::vector<std::string>& messages() const = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_TRACE_READER_H_
