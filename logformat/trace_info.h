// The description of a trace: what was recorded, where, how, and its hooks.
#ifndef COUNTRACE_LOGFORMAT_TRACE_INFO_H_
#define COUNTRACE_LOGFORMAT_TRACE_INFO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logformat/counter_limit.h"
#include "logformat/event_sets.h"
#include "logformat/packet_layout.h"
#include "logformat/probe_cost.h"
#include "logformat/rules/gating.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {

struct NumberNames;

// Whose state a level is: a point hook whose one value says whether it is up.
enum class LevelScope : std::uint8_t { kNone, kThread, kProcess, kMachine };
inline const char* LevelScopeName(LevelScope scope) {
  constexpr const char* kNames[] = {"", "thread", "process", "machine"};
  return kNames[static_cast<std::size_t>(scope)];
}

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
  // Names of these values; none: they are arg0, arg1, ...
  std::vector<std::string> payload_names = {};
  // A probe's; absent: it was not measured.
  std::optional<ProbeCost> probe_cost = std::nullopt;
  // Values of a kernel hook's exit, behind its return value; each has a name. A
  // program's hook has none.
  std::vector<PayloadType> exit_payload = {};
  std::vector<std::string> exit_payload_names = {};
  // What the numbers of a kernel hook's values are called (number_names.h): of
  // its enter or point, then of its exit; null, or shorter: they have no names.
  std::vector<std::shared_ptr<const NumberNames>> number_names = {};
  LevelScope level = LevelScope::kNone;
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

// A half-open part of a recording, on CLOCK_MONOTONIC.
struct TimeSpan {
  std::uint64_t from_ns = 0, until_ns = 0;
  bool operator==(const TimeSpan&) const = default;
};

// What was asked for, could not be recorded, and has no place in a stream.
struct NotRecorded {
  std::string cause;        // one of kNotRecordedCauses
  std::uint64_t count = 0;  // of what the cause says
  std::string text;         // what, why, remedy
};
// Event records that the kernel's guard against recursion dropped.
inline constexpr char kKernelRecursion[] = "kernel_recursion";
// Processes with hooks that did not join the recording.
inline constexpr char kNotJoined[] = "not_joined";
// Samples that found no room in the kernel's rings.
inline constexpr char kLostSamples[] = "lost_samples";
// Requests that could not be recorded at all: hooks, events, CPUs.
inline constexpr char kUnavailable[] = "unavailable";
// Processes of the command that lived on when it had ended.
inline constexpr char kWentOn[] = "went_on";
// Milliseconds in which system calls, faults or samples were not recorded, for
// a limit of the recorder's own cost.
inline constexpr char kLeftOut[] = "left_out";
// Texts of hooks that were longer than kMaxStringBytes.
inline constexpr char kCutTexts[] = "cut_texts";
inline constexpr const char* kNotRecordedCauses[] = {
    kKernelRecursion, kNotJoined, kLostSamples,  // lost
    kUnavailable,     kWentOn,    kLeftOut,     kCutTexts};

// A trace's description: from `metadata` of a finished trace, from `.session`
// and `.hooks` of an unfinished one.
struct TraceInfo {
  std::string path;
  std::uint32_t format = kFormatVersion;
  std::array<std::uint8_t, 16> uuid{};
  std::array<std::uint8_t, 16> boot_id{};  // uuid of the clock; 0: unknown
  SessionScope scope = SessionScope::kHooksOnly;
  std::int32_t root_pid = 0;       // kCommand: first process
  std::optional<Gating> gating;    // what is counted, see GatingOf()
  std::vector<std::string> marks;  // mark_spec.h, in canonical spelling
  std::int32_t recorder_pid = 0;
  std::uint32_t cpus = 0;
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  // In a snapshot, the tables end with the first dump of each CPU from here on
  // whose reason is kSnapshot. 0: no such dumps.
  std::uint64_t snapshot_ns = 0;
  std::int64_t realtime_offset_ns = 0;
  std::string hostname, kernel_release, command;
  // The recorder's (FORMAT.md, section 5). Empty: none, or not known.
  std::string container, machine_hash;
  // Size of the stream of clock samples, 0: not known. Absent: there is none.
  std::optional<std::uint64_t> clock_packets;
  // Time of the kernel recorder's BPF programs, in all threads that ran them:
  // estimated from the `sampled` part of the time. Both 0: not known.
  std::uint64_t own_bpf_ns = 0, own_bpf_sampled_ns = 0;
  // Calibrated cost of one record of a user hook: CPU time of all threads of
  // its process, and in its own thread without and with counters.
  std::uint64_t own_hook_cpu_ps = 0, own_hook_ps = 0;
  std::uint64_t own_hook_dump_ps = 0;      // 0: not known
  std::vector<std::string> cpu_events;     // names, in dump order
  std::vector<std::string> thread_events;  // names, in dump order
  // By event, up to the last one with a limit; all others are 64 bits wide.
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
  // description/recorded_part.h: from a pause to the next resume, kNotReached
  // if there is none. Ascending, and each ends before the next one begins.
  std::vector<TimeSpan> pauses;
  std::vector<NotRecorded> not_recorded;
  // For an imported trace: what recorded it and what read it, its source
  // directories, and the facts they do not contain. Else empty.
  std::string source;
  std::vector<std::string> source_paths, not_known;
  // For a listing of counts (logformat/import/listing): its text before the
  // rows of CPUs, in place of rows left out, and behind them. Else empty.
  std::vector<std::string> listing;
  // False: its source has no clock. The time of a record counts the records,
  // stream after stream; it orders them, and no verb shows it as a time.
  bool has_times = true;
  std::vector<HookInfo> hooks;         // ascending by id
  std::vector<ProcessName> processes;  // in the order in which they joined
  // Names of the users and cgroups in `owner` records, by id: a user without a
  // name has its id, a cgroup that was gone before it was looked up none ("").
  std::map<std::uint32_t, std::string> users;
  std::map<std::uint64_t, std::string> cgroups;           // paths
  const HookInfo* FindHook(std::uint32_t hook_id) const;  // null if unknown
  bool finished = true;    // false: `.incomplete` is present
  bool recording = false;  // `.incomplete` is locked: a recorder is at work
};

struct StreamInfo {
  std::string file;  // name inside the trace directory
  StreamClass stream_class = StreamClass::kThread;
  std::uint64_t bytes = 0;
  // Without the holes that overwritten packets left (FORMAT.md, section 6).
  std::uint64_t disk_bytes = 0;
  std::uint64_t packets = 0;
  // From the heads of its packets: event records, those of them that a flight
  // recording overwrote, and packets that are missing.
  std::array<std::uint64_t, kDiscardCauses> discarded{};
  std::uint64_t overwritten = 0, lost_packets = 0;
};

// What the trace counts. By default: the processes of a command, which are
// marked; in other modes everything.
Gating GatingOf(const TraceInfo& info);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_TRACE_INFO_H_
