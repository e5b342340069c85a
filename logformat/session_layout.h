// Files that exist while a recording runs (FORMAT.md, section 6).
//
//   DIR/.incomplete    locked with flock(LOCK_EX) by the recorder; removed at
//                      the end. Present and unlocked: the recorder died.
//   DIR/.session       SessionControl below, mapped shared by the recorder and
//                      by every instrumented process.
//   DIR/.kernel_hooks  hooks that the recorder dumps itself, in the lines of
//                      `.hooks`; only the recorder writes it.
//   DIR/.triggers      why the recording stopped or the snapshot was taken: one
//                      line for each trigger that fired.
//   DIR/.not_recorded  what was asked for and is in no stream, one line for
//                      each NotRecorded (trace_info.h).
//   DIR/.unjoined      named pipe of UnjoinedProgram below, which only the
//                      recorder reads.
//   DIR/.thread_ids    ThreadIdsEntry below, for threads of pid namespaces
//                      other than the recorder's, which alone writes it.
//   DIR/.cpu_events    events of CPUs for which `.session` has no place: one
//                      SessionEvent each, then the size of each set; only the
//                      recorder writes it.
//   DIR/.owners        names of users and cgroups in the trace, one text line
//                      each; only the recorder writes it.
//   DIR/.host          `machine_hash` and `container` of the env block, with a
//                      tab between; only the recorder writes it.
//   DIR/.hooks         hook registry, one text line a hook, appended under
//                      flock(LOCK_EX); a line without '\n' is a torn append.
//   DIR/.user-UID/     of programs of another user, who owns the folder: their
//                      own `.session`, `.hooks` and streams. What is in it is
//                      copied when the recording ends, and trusted in nothing.
//
// Plain data only: compiled into the runtime library.
#ifndef COUNTRACE_LOGFORMAT_SESSION_LAYOUT_H_
#define COUNTRACE_LOGFORMAT_SESSION_LAYOUT_H_

#include <atomic>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::logformat {

inline constexpr char kIncompleteFile[] = ".incomplete";
inline constexpr char kSessionFile[] = ".session";
inline constexpr char kHooksFile[] = ".hooks";
inline constexpr char kKernelHooksFile[] = ".kernel_hooks";
inline constexpr char kTriggersFile[] = ".triggers";
inline constexpr char kThreadIdsFile[] = ".thread_ids";
inline constexpr char kCpuEventsFile[] = ".cpu_events";
inline constexpr char kOwnersFile[] = ".owners";
inline constexpr char kHostFile[] = ".host";
inline constexpr char kNotRecordedFile[] = ".not_recorded";
inline constexpr char kUnjoinedPipe[] = ".unjoined";
// Then a user's number.
inline constexpr char kUserFolderPrefix[] = ".user-";
inline constexpr char kMetadataFile[] = "metadata";
// Version of the session's files (FORMAT.md, section 6): programs of an older
// build join the sessions of a newer one.
inline constexpr std::uint32_t kSessionVersion = 1;
// Environment variable that names the trace directory to instrumented programs.
inline constexpr char kSessionEnvironment[] = "COUNTRACE_SESSION";

// `.hooks` line: ID '\t' KIND '\t' TYPES '\t' PROVIDER ':' NAME '\t' FILE ':'
// LINE '\n', for example "4096\tsegment\tus\tserver:handle\tserver.cc:12\n".
// KIND is "segment" or "point", in `.kernel_hooks` "kernel-segment",
// "kernel-point", "probe-segment", "probe-point" or "interrupt"; TYPES one
// kPayloadTypeLetters letter for each value, "-" for none.

// Modifiers of an event name: `:u` does not count the kernel, `:k` does not
// count user code.
enum SessionEventFlags : std::uint32_t {
  kEventExcludeUser = 1u << 0,
  kEventExcludeKernel = 1u << 1,
};

// One event of an event set, in the terms of perf_event_open(2).
struct SessionEvent {
  char name[48];        // as the user wrote it, NUL-terminated
  std::uint32_t type;   // perf_event_attr.type
  std::uint32_t flags;  // SessionEventFlags
  std::uint64_t config;
  std::uint64_t config1;
  std::uint64_t config2;
};

enum class SessionState : std::uint32_t { kRecording = 1, kStopped = 2 };
enum class SessionMode : std::uint32_t {
  kStream = 0,
  kDiscard = 1,
  kFlight = 2
};
enum class SessionScope : std::uint32_t {
  kHooksOnly = 0,  // no kernel records
  kCommand = 1,    // kernel records of one command and its descendants
  kSystem = 2      // whole machine
};

// One instrumented process claims it by compare-exchange of `owner` from 0.
struct ProcessSlot {
  std::atomic<std::uint64_t> owner;     // SlotOwner()
  std::atomic<std::uint32_t> detached;  // 1: no longer writes to this session
  std::atomic<std::uint32_t> wake;      // futex: helper thread waits on it
};
// `pid` in the pid namespace with this inode; 0: the recorder's.
constexpr std::uint64_t SlotOwner(std::int32_t pid,
                                  std::uint32_t pid_namespace) noexcept {
  return std::uint64_t{pid_namespace} << 32 | static_cast<std::uint32_t>(pid);
}

// A program with hooks that found the session and could not open it.
struct UnjoinedProgram {
  std::uint32_t error;  // errno
  char path[508];       // of the program's file, NUL-terminated
};

// A thread's and its process's numbers in their own pid namespace, and in the
// recorder's, from `time_ns` on.
struct ThreadIdsEntry {
  std::uint64_t time_ns;
  std::uint32_t pid_namespace;  // inode
  std::int32_t own_pid, own_tid;
  std::int32_t pid, tid;
  std::uint32_t reserved;
};
inline constexpr std::size_t kProcessSlots = 4096;

// Bytes include the terminating NUL.
inline constexpr std::size_t kMaxMarks = 8;
inline constexpr std::size_t kMarkTextBytes = 256;

struct SessionControl {
  std::uint64_t magic;    // kSessionMagic, stored last by the recorder
  std::uint32_t version;  // kSessionVersion
  std::uint32_t bytes;    // sizeof(SessionControl)
  std::uint8_t uuid[16];  // of the trace
  // /proc/sys/kernel/random/boot_id: the clock's uuid in the metadata, so that
  // babeltrace2 merges with LTTng traces of the same boot. All 0: unknown.
  std::uint8_t boot_id[16];
  std::atomic<SessionState> state;
  SessionMode mode;
  SessionScope scope;
  std::int32_t recorder_pid;
  std::uint32_t pid_namespace;     // the recorder's: inode; 0: unknown
  std::int32_t root_pid;           // first process of kCommand, else 0
  std::uint32_t cpus;              // possible CPUs at the beginning
  std::uint64_t sub_buffer_bytes;  // largest sub-buffer, multiple of 4096
  std::uint32_t sub_buffers;       // sub-buffers kept ready for each thread
  // CPU time of one record of a user hook on this machine, in picoseconds,
  // including the work of the process's other threads that prepare sub-buffers;
  // 0: not measured. Stored at the end of the recording, as the next two.
  std::atomic<std::uint32_t> own_hook_cpu_ps;
  // kDiscard, kFlight: limit of all thread streams together. In a flight
  // recording the recorder subtracts what it overwrites from used_bytes.
  std::uint64_t max_bytes;
  std::atomic<std::uint64_t> used_bytes;  // of max_bytes
  // Clock: CLOCK_REALTIME - CLOCK_MONOTONIC at the beginning, and the raw
  // counter's rate as the recorder measured it: ns = ticks * mult / 2^32
  // (0: not usable, read CLOCK_MONOTONIC instead).
  std::int64_t realtime_offset_ns;
  std::uint64_t begin_ns;     // CLOCK_MONOTONIC
  std::uint64_t raw_ns_mult;  // 2^32 * ns per raw tick
  // Events of the kernel recorder's dumps, and of dumps at user hooks. More of
  // CPUs than there are places (AreMany() of event_sets.h): they and their sets
  // are in `.cpu_events`, and here are their numbers alone.
  std::uint32_t cpu_event_count;
  std::uint32_t thread_event_count;
  SessionEvent cpu_events[kSessionEvents];
  SessionEvent thread_events[kSessionEvents];
  // Events of each multiplexed event set: the last ones in the list, set after
  // set; the events before them are always on. 0 sets: no multiplexing.
  std::uint32_t cpu_set_count;
  std::uint32_t thread_set_count;
  std::uint32_t cpu_set_sizes[kSessionEventSets];
  std::uint32_t thread_set_sizes[kSessionEventSets];
  char hook_filter[256];  // globs separated by ','; empty = all hooks
  // Records that could not be stored in any stream file.
  std::atomic<std::uint64_t> discarded_by_cause[kDiscardCauses];
  // Last errno behind kDiskFull and kNoResource, for the message.
  std::atomic<std::uint32_t> last_errno;
  // How often a thread had to make its own next sub-buffer resident.
  std::atomic<std::uint32_t> late_sub_buffers;
  // Time of the kernel recorder's BPF programs, estimated from the part of the
  // time in which the kernel measured them; sampled 0: not measured.
  std::atomic<std::uint64_t> own_bpf_ns, own_bpf_sampled_ns;
  std::atomic<std::uint32_t> processes_joined;
  // The same in the thread of the hook alone, while sub-buffers are ready.
  std::atomic<std::uint32_t> own_hook_ps;
  char hostname[64];
  char kernel_release[64];
  char command[256];
  // Which records of user hooks carry a dump. Without rules: all of them, if
  // there are thread events. The first rule whose glob matches decides.
  std::uint32_t dump_rule_count;
  // As own_hook_ps, for a record with counters.
  std::atomic<std::uint32_t> own_hook_dump_ps;
  std::uint64_t tick_ns;  // the kernel's tick
  // How long a thread counts one event set before it rotates; 0: for one
  // instance of its outermost segment with a dump.
  std::uint64_t thread_rotate_ns;
  countrace_dump_rule dump_rules[COUNTRACE_MAX_DUMP_RULES];
  // What is counted (GatingBits() of gating.h), and which processes were marked
  // besides the command.
  std::uint32_t count;
  std::uint32_t mark_count;
  char marks[kMaxMarks][kMarkTextBytes];
  // A program that takes a snapshot adds 1 to the first. The recorder then
  // dumps the counters of every CPU, stores the time before these dumps, and
  // repeats that number in the last.
  std::atomic<std::uint32_t> dump_requests;
  std::atomic<std::uint32_t> dumps_answered;
  std::atomic<std::uint64_t> dumped_ns;
  // dumped_ns of the dumps for this snapshot; 0: not a snapshot, or none.
  std::uint64_t snapshot_ns;
  ProcessSlot processes[kProcessSlots];
};
inline constexpr std::uint64_t kSessionMagic =
    0x31306e7373437463;  // "ctCssn01"

inline std::uint32_t AlwaysOnThreadEvents(
    const SessionControl& session) noexcept {
  std::uint32_t events = session.thread_event_count;
  for (std::uint32_t i = 0; i < session.thread_set_count; ++i) {
    events -= session.thread_set_sizes[i];
  }
  return events;
}

// Number of values in a dump at a user hook; the same for every set.
inline std::uint32_t ThreadDumpValues(const SessionControl& session) noexcept {
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < session.thread_set_count; ++i) {
    if (session.thread_set_sizes[i] > largest) {
      largest = session.thread_set_sizes[i];
    }
  }
  return AlwaysOnThreadEvents(session) + largest;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_SESSION_LAYOUT_H_
