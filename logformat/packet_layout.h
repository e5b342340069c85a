// On-disk structures of a countrace trace (FORMAT.md, sections 2 to 4).
//
// Shared by every writer (runtime library, kernel recorder, recover) and the
// native reader. Plain data only: this header is also compiled into the
// runtime library, so it includes neither Abseil nor anything that allocates.
#ifndef COUNTRACE_LOGFORMAT_PACKET_LAYOUT_H_
#define COUNTRACE_LOGFORMAT_PACKET_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace countrace::logformat {

// Version of traces (FORMAT.md, section 8).
inline constexpr std::uint32_t kFormatVersion = 5;
// That of a trace in which no kernel hook but points has values; and, of these,
// with no more events and sets than `.session` has places for.
inline constexpr std::uint32_t kPointValuesVersion = 4;
inline constexpr std::uint32_t kFewEventsVersion = 3;
// Whether the packets of a finished trace have checksums.
constexpr bool HasChecksums(std::uint32_t format) noexcept {
  return format >= 3;
}
inline constexpr std::uint32_t kPacketMagic = 0xC1FC1FC1;  // CTF 1.8, 5.1

// Each part of a packet starts at a multiple of this many bytes.
inline constexpr std::size_t kRecordAlignBytes = 8;
// Packets start and end on page boundaries of the stream file, so that each can
// be mapped separately.
inline constexpr std::size_t kPacketAlignBytes = 4096;

// Which TSDL stream class a stream file belongs to (FORMAT.md, section 3).
enum class StreamClass : std::uint32_t { kCpu = 0, kThread = 1, kClock = 2 };
inline constexpr std::size_t kStreamClasses = 3;
// The one stream file of class kClock.
inline constexpr char kClockStream[] = "clock";

// Why an event record could not be stored. The order is part of the format: it
// indexes `discarded_by_cause` of a packet.
enum class DiscardCause : std::uint32_t {
  kNoSubBuffer = 0,    // no sub-buffer was ready (ring full)
  kTraceFull = 1,      // `discard` mode: the size limit was reached
  kDiskFull = 2,       // ENOSPC, EDQUOT, EIO when a sub-buffer was prepared
  kNoResource = 3,     // EMFILE, ENOMEM, EACCES, EFBIG, ... on the stream file
  kUncommitted = 4,    // reserved, but the thread died before it committed
  kKernelRingFull = 5  // perf ring buffer overflow (PERF_RECORD_LOST)
};
inline constexpr std::size_t kDiscardCauses = 6;
// Names in reports, in the order of DiscardCause.
inline constexpr const char* kDiscardCauseNames[kDiscardCauses] = {
    "no_sub_buffer", "trace_full",  "disk_full",
    "no_resource",   "uncommitted", "kernel_ring_full"};

// Packet header and packet context, 176 bytes, little-endian, at the start of
// each packet. A packet whose `content_bits` is 0 is open: its writer is alive
// or died; `recover` finds its end by walking the records (FORMAT.md, 7).
struct PacketHead {
  // CTF packet header.
  std::uint32_t magic;         // kPacketMagic
  std::uint8_t uuid[16];       // of the trace
  std::uint32_t stream_class;  // StreamClass
  // CTF packet context.
  std::uint64_t begin_ns;  // timestamp_begin, CLOCK_MONOTONIC
  // timestamp_end: time of the last record; in a thread's packet, the time at
  // which the thread left it.
  std::uint64_t end_ns;
  std::uint64_t content_bits;  // content_size: head and records; 0 = open
  std::uint64_t packet_bits;   // packet_size, multiple of 8 * 4096
  std::uint32_t sequence;      // packet_seq_num, from 0 in each stream file
  std::uint32_t checksum;      // packet_checksum.h; 0 in an open packet
  // events_discarded: cumulative in this stream file. By our rule the events
  // counted here were lost after this packet's last record and before the next
  // packet's first record.
  std::uint64_t discarded;
  std::uint64_t discarded_by_cause[kDiscardCauses];  // sum = discarded
  // Clock pairs taken when the packet was opened and closed: raw counter
  // (TSC, CNTVCT, timebase; 0 if unused) and CLOCK_MONOTONIC ns.
  std::uint64_t raw_begin;
  std::uint64_t monotonic_begin;
  std::uint64_t raw_end;
  std::uint64_t monotonic_end;
  std::int32_t cpu;       // logical CPU of a kCpu stream, else -1
  std::int32_t pid;       // thread group of a kThread packet, else -1
  std::int32_t tid;       // thread of a kThread packet, else -1
  std::uint32_t mmcr;     // event set that was counted
  std::uint32_t present;  // kCpu: bit i set = value i of a dump was counted
  std::uint32_t flags;    // PacketFlags
};
static_assert(sizeof(PacketHead) == 176, "FORMAT.md section 3.1");
inline constexpr std::size_t kPacketHeadBytes = 176;
static_assert(kPacketHeadBytes % kRecordAlignBytes == 0);

enum PacketFlags : std::uint32_t {
  kPacketRecovered = 1u << 0,  // closed by recover, not by its writer
  // Only while a flight recording runs: replaces overwritten packets; raw_end
  // is the number of their records.
  kPacketOverwritten = 1u << 1,
  // Only while a recording runs: `pid` and `tid` are numbers of the pid
  // namespace with inode `present`, not of the recorder's.
  kPacketOtherNamespace = 1u << 2,
  // The checksum was computed when the trace was finished: what happened to the
  // packet before is not noticed.
  kPacketLateChecksum = 1u << 3,
};

// --- Event header: one 64-bit word, `id` in bits 0..15, time in 16..63 ------
//
// The time is the low 48 bits of CLOCK_MONOTONIC ns. The high bits come from
// the record before it (CTF clock update rule), for a packet's first record
// from `begin_ns`. A writer opens a new packet when two records of one stream
// are 2^47 ns (39 h) or more apart. The word is stored last: while it is 0, the
// record is reserved but not committed.
inline constexpr unsigned kTimeBits = 48;
inline constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;

constexpr std::uint64_t HeaderWord(std::uint16_t event_id,
                                   std::uint64_t time_ns) noexcept {
  return (time_ns << 16) | event_id;
}
constexpr std::uint16_t HeaderEventId(std::uint64_t word) noexcept {
  return static_cast<std::uint16_t>(word);
}
constexpr std::uint64_t HeaderTimeLow(std::uint64_t word) noexcept {
  return word >> 16;
}

// --- Event ids, kThread streams ----------------------------------------------
//
// id = hook_id * 2 + (1 for exit) + (0x8000 if the record carries a dump).
// Hook id 0 is reserved: event id 0 = uncommitted word, event id 1 = hole
// (reserved record of more than 8 bytes; bits 16..63 = its size in bytes).
// Holes exist only in open kThread packets; closing removes them.
inline constexpr std::uint16_t kEventUncommitted = 0;
inline constexpr std::uint16_t kEventHole = 1;
inline constexpr std::uint16_t kEventExitBit = 0x0001;
inline constexpr std::uint16_t kEventDumpBit = 0x8000;
inline constexpr std::uint32_t kHookIdMin = 1;
inline constexpr std::uint32_t kHookIdAutomaticMin = 4096;  // below: explicit
// Larger ids belong to the kernel recorder: hooks it writes itself.
inline constexpr std::uint32_t kHookIdKernelMin = 12288;
inline constexpr std::uint32_t kHookIdMax = 16383;

constexpr std::uint32_t EventHookId(std::uint16_t event_id) noexcept {
  return (event_id & 0x7fffu) >> 1;
}

// A thread record is: the header word; with kEventDumpBit a ThreadDump and one
// u64 for each thread counter of the session (cumulative since the thread's
// counters were opened); the payload of an enter or point hook, values in
// order, byte-packed: integers, doubles and pointers 8 bytes little-endian,
// strings NUL-terminated; zero padding to a multiple of 8 bytes. Exits carry no
// payload.
struct ThreadDump {
  std::uint32_t mmcr;     // event set of these counts
  std::uint32_t present;  // bit i: value i was read; bit 16 + i: it was
                          // multiplexed (running < enabled) at this dump
};
static_assert(sizeof(ThreadDump) == 8, "FORMAT.md section 4.2");
// With event sets a dump has 15 values at most; in threads' streams bit 15 of
// `present` is set in every second rotation: one of the same set is seen to
// end.
inline constexpr std::uint32_t kOddRotationBit = 1u << 15;

// Values of one dump. Our recorders count 16 at most, as many as the bits of a
// thread's dump allow; a CPU's dump may hold more (POWER2 has 22 counters).
inline constexpr std::size_t kMaxCounters = 16;
inline constexpr std::size_t kMaxDumpValues = 24;
// Events of CPUs in all their sets.
inline constexpr std::size_t kMaxEvents = 256;
inline constexpr std::size_t kMaxEventSets = 64;
// The part that `.session` has places for, of CPUs and of threads. It is in the
// memory of recorded programs, which need the events of threads alone.
inline constexpr std::size_t kSessionEvents = 24;
inline constexpr std::size_t kSessionEventSets = 8;
inline constexpr std::size_t kMaxPayloadValues = 6;
// Longer strings are cut to this many bytes, the NUL included.
inline constexpr std::size_t kMaxStringBytes = 512;
// So ends a string that was cut: it has kMaxStringBytes with this, and the NUL.
inline constexpr char kCutTextEnd[] = "...";
inline constexpr std::size_t kCutTextEndBytes = sizeof(kCutTextEnd) - 1;
inline constexpr std::size_t kMaxRecordBytes = 4096;
// A larger gap between the numbers of two packets counts as damage.
inline constexpr std::uint32_t kMaxSequenceGap = std::uint32_t{1} << 30;
// A larger packet counts as damage.
inline constexpr std::size_t kMaxPacketBytes = std::size_t{1} << 30;

// Payload value types, as stored in hook descriptors and in `.hooks`.
enum class PayloadType : std::uint8_t {
  kNone = 0,
  kInt = 1,
  kUnsigned = 2,
  kDouble = 3,
  kString = 4,
  kPointer = 5
};
// One letter for each type in `.hooks` and in the metadata's env block.
inline constexpr char kPayloadTypeLetters[] = "-iudsp";

enum class HookKind : std::uint8_t { kPoint = 1, kSegment = 2 };

// What writes a hook's records, and what executes from enter to exit.
enum class HookOrigin : std::uint8_t {
  kProgram = 0,    // the program itself, into its thread's stream
  kProbe = 1,      // the kernel, at an address in user code (uprobe, USDT)
  kKernel = 2,     // the kernel, executing for a thread (system call)
  kInterrupt = 3,  // the kernel, executing for no thread: attributed to the CPU
};

// --- Event ids, kCpu streams -------------------------------------------------
//
// Below 2 * kHookIdKernelMin: CpuEvent. Above: records of kernel hooks, with
// the ids of kThread streams: hook_id * 2 + exit bit + dump bit.
enum class CpuEvent : std::uint16_t {
  kDispatch = 1,  // DispatchRecord + N counters
  kCounters = 2,  // CountersRecord + N counters
  kFork = 3,      // TaskRecord: a thread or process was created
  kExec = 4,      // CommRecord
  kComm = 5,      // CommRecord: name changed without exec
  kExit = 6,      // TaskRecord: the thread ended
  kFault = 7,     // FaultRecord: one page fault
  // StateRecord: a thread that existed at the beginning, or became marked
  kProcessState = 8,
  kSwitchIn = 9,  // SwitchInRecord: a switch without counter values
  kWakeup = 10,   // WakeupRecord: a thread became runnable
  kOwner = 11,    // OwnerRecord: whose a process is from now on
};
inline constexpr std::uint16_t kCpuEventMax = 11;

// N = number of events of the session's event set; counters are cumulative
// since the recording began on this CPU. With 4 counters: 48 bytes. With
// multiplexed sets: a ThreadDump and N values, see event_sets.h.
struct DispatchRecord {
  std::uint64_t header;
  // Bits 0..23 tid switched out, 24..47 tid switched in (0 = idle), 48..63
  // state of the thread switched out (SwitchState).
  std::uint64_t tids_and_state;
};
static_assert(sizeof(DispatchRecord) == 16, "FORMAT.md section 4.3");
constexpr std::uint64_t PackDispatch(std::uint32_t prev_tid,
                                     std::uint32_t next_tid,
                                     std::uint16_t state) noexcept {
  return (prev_tid & 0xffffffu) | (std::uint64_t{next_tid & 0xffffffu} << 24) |
         (std::uint64_t{state} << 48);
}
// Why the thread left the CPU. Values from 1 on are the kernel's task state
// bits as sched_switch prints them; 0 means it was still runnable.
enum SwitchState : std::uint16_t {
  kSwitchRunnable = 0x0000,         // yielded
  kSwitchInterruptible = 0x0001,    // S
  kSwitchUninterruptible = 0x0002,  // D
  kSwitchStopped = 0x0004,          // T
  kSwitchTraced = 0x0008,           // t
  kSwitchDead = 0x0010,             // X, Z
  kSwitchOther = 0x0020,
  kSwitchPreempted = 0x0100,  // R+: lost the CPU while runnable
  // Its group's CPU quota is used up. A reader that does not have this value
  // sees a preempted thread.
  kSwitchThrottled = 0x0300,
};
// Beside the state stand flags: which of both threads might run on every
// recorded CPU.
inline constexpr std::uint16_t kSwitchStateBits = 0x03ff;
inline constexpr std::uint16_t kSwitchPrevAnyCpu = 0x0400;
inline constexpr std::uint16_t kSwitchNextAnyCpu = 0x0800;

// It waits from here on for its next dispatch.
constexpr bool IsRunnable(std::uint16_t state) noexcept {
  return state == kSwitchRunnable || (state & kSwitchPreempted) != 0;
}
constexpr bool IsThrottled(std::uint16_t state) noexcept {
  return (state & kSwitchThrottled) == kSwitchThrottled;
}

// Event `switch_in`: `next` runs from here on. Written only where no dispatch
// record exists, because the kernel does not report sched_switch of `prev` (the
// idle thread of a CPU, a sandbox's own agent). The time of the switch is known
// or computed, the counter values are not.
struct SwitchInRecord {
  std::uint64_t header;
  // Tids as in DispatchRecord. The state is 0; it is 1 if the switch was not
  // observed and its time was computed from how long `prev` had run.
  std::uint64_t tids_and_state;
};
static_assert(sizeof(SwitchInRecord) == 16, "FORMAT.md section 4.3");

// Event `wakeup`: the stream's CPU makes `wakee` runnable (sched_waking,
// sched_wakeup_new). An interrupt has the number of `wakee`, which cannot wake
// itself; where the kernel's count of interrupts is not found, and in imported
// traces, that of the interrupted thread.
struct WakeupRecord {
  std::uint64_t header;
  // Bits 0..23 waker (0 = idle), 24..47 wakee, 48..63 CPU where it is queued.
  std::uint64_t tids_and_cpu;
};
static_assert(sizeof(WakeupRecord) == 16, "FORMAT.md section 4.3");

// A kernel hook's record. It is followed by the CPU's N counters if
// kEventDumpBit is set, then, at an exit, by the return value of the code (i64;
// 0 if none), then by the values that its hook declares.
struct KernelHookRecord {
  std::uint64_t header;
  // Bits 0..23 tid, 24..47 pid of the thread on the CPU (0 = idle), 48..63 the
  // number of the system call, interrupt line or vector, else 0.
  std::uint64_t ids;
};
static_assert(sizeof(KernelHookRecord) == 16, "FORMAT.md section 4.4");
constexpr bool IsKernelHookEvent(std::uint16_t event_id) noexcept {
  return EventHookId(event_id) >= kHookIdKernelMin;
}

struct CountersRecord {  // event `counters`
  std::uint64_t header;
  std::uint32_t reason;       // CountersReason
  std::uint32_t running_tid;  // thread on the CPU at this instant, 0 = idle
};
// At the end or beginning of a set: the running thread does not change.
inline constexpr std::uint32_t kRunningTidUnknown = 0xffffffff;
enum class CountersReason : std::uint32_t {
  kBegin = 0,
  kEnd = 1,
  kTick = 2,
  kSetEnd = 3,    // the last values of the event set
  kSetBegin = 4,  // the first values of the next set
  // For a snapshot: the end of each CPU in its tables; a dump as any other in
  // the recording, which goes on.
  kSnapshot = 5,
  // From the first such dump of any CPU on, system calls and faults are not
  // recorded as segments (`record --max-cpu`), until the first of the others.
  // Both are repeated.
  kCallsLeftOut = 6,
  kCallsRecorded = 7,
};

struct TaskRecord {  // events `fork` and `exit`
  std::uint64_t header;
  std::int32_t pid;
  std::int32_t tid;
  std::int32_t parent_pid;
  std::int32_t parent_tid;
};
struct CommRecord {  // events `exec` and `comm`
  std::uint64_t header;
  std::int32_t pid;
  std::int32_t tid;
  char comm[16];  // NUL-padded
};
struct FaultRecord {  // event `fault`
  std::uint64_t header;
  std::int32_t pid;
  std::int32_t tid;
  std::uint64_t address;
};
enum StateFlags : std::uint32_t {
  kStateKernelThread = 1u << 0,
  kStateMarked = 1u << 1,  // its process is marked from now on
};
struct StateRecord {  // event `process_state`
  std::uint64_t header;
  std::int32_t pid;
  std::int32_t tid;
  std::int32_t parent_pid;
  std::uint32_t flags;  // StateFlags
  char comm[16];        // NUL-padded
};
// Event `owner`: at the beginning, for each process; then where a process is
// forked, execs or ends with another owner, and at the end.
struct OwnerRecord {
  std::uint64_t header;
  std::int32_t pid;
  std::uint32_t uid;     // real user id; kNoUser: not known
  std::uint64_t cgroup;  // id in the cgroup v2 hierarchy; 0: not known
  // Its number in its own (the innermost) pid namespace, and the kernel's; 0:
  // not known.
  std::int32_t own_pid;
  std::int32_t host_pid;
};
inline constexpr std::uint32_t kNoUser = 0xffffffff;
// In `cgroup`: the id is of the v1 hierarchy of the cpu controller, as the
// process is in the root of v2.
inline constexpr std::uint64_t kCgroupOfV1 = std::uint64_t{1} << 63;
static_assert(sizeof(OwnerRecord) == 32);
static_assert(sizeof(TaskRecord) == 24 && sizeof(CommRecord) == 32);
static_assert(sizeof(FaultRecord) == 24 && sizeof(StateRecord) == 40);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_PACKET_LAYOUT_H_
