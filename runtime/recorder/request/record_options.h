// What to record, and what came of it.
#ifndef COUNTRACE_RUNTIME_RECORDER_REQUEST_RECORD_OPTIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_REQUEST_RECORD_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logformat/loss.h"
#include "logformat/mark_spec.h"
#include "logformat/rules/gating.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/system/cpu_quota.h"

namespace countrace::runtime {

enum class KernelBackend {
  kAuto,  // BPF where it works, else perf
  kBpf,
  kPerf,
};

struct RecordOptions {
  std::string output = "countrace.ctf";
  bool force = false;        // replace an existing trace
  bool system_wide = false;  // -a
  // Records these running processes, and their later children, until all have
  // ended. Processes with hooks join, even if they were not started by
  // `record`.
  std::vector<std::int32_t> pids;
  // Processes that are marked beside the command or `pids`, and the execution
  // that is counted (defaults: recorded_gating.h).
  std::vector<logformat::MarkSpec> marks;
  std::optional<logformat::Gating> count;
  // May be empty with system_wide or pids; with pids it only limits the
  // duration.
  std::vector<std::string> command;
  // From `begun` on. 0: until the command ends or a signal.
  std::uint64_t duration_ns = 0;
  // Names as perf spells them. Empty: task-clock, exec-runtime, page-faults,
  // context-switches, and cycles, instructions where the machine has them.
  std::vector<std::string> events;
  // Counters read at each user hook; empty: none.
  std::vector<std::string> hook_events;
  // Rotation interval of event sets ("{a,b}" in `events` or `hook_events`);
  // absent: RotateNs() of rotation_schedule.h, at user hooks kRotateNs.
  std::optional<std::uint64_t> rotate_ns;
  // At user hooks: event sets rotate at each instance of a thread's outermost
  // segment.
  bool rotate_instances = false;
  std::string hook_filter;  // globs separated by ','
  // Records of hooks that carry counters, as in dump_rule_text.h: user hooks
  // carry `hook_events`, kernel hooks `events`. Empty: all user hooks; of the
  // kernel hooks, the dynamic ones and those whose counts are not available
  // otherwise.
  std::vector<std::string> dump_rules;
  // Conditions for a snapshot, or for the end, as in trigger_text.h.
  std::vector<std::string> triggers;
  logformat::SessionMode mode = logformat::SessionMode::kStream;
  std::uint64_t sub_buffer_bytes = 1 << 20;
  std::uint32_t sub_buffers = 4;
  // Discard mode: limit of the thread streams. Flight mode: size that is kept
  // of all streams together.
  std::uint64_t max_bytes = 64 << 20;
  // Flight mode: what is older is not kept either; 0: of any age.
  std::uint64_t flight_ns = 0;
  // Limit of all snapshots that the recorder takes together; absent: 16 times
  // `max_bytes`, once with `flight_ns`, at least 1 GiB.
  std::optional<std::uint64_t> snapshot_bytes;
  // Removes own snapshots that are older, and the oldest instead of taking no
  // further one. Absent: all stay.
  std::optional<std::uint64_t> keep_ns;
  KernelBackend backend = KernelBackend::kAuto;
  std::uint64_t kernel_ring_bytes = 8 << 20;  // per CPU
  // The most of one CPU that the recorder and its BPF programs take, as a part
  // of 1 (BPF back end); 0: no limit. What is thinned: session/cpu_budget.h.
  double max_cpu = 0;
  bool kernel = true;         // false: user hooks only
  bool fault_records = true;  // a record for every page fault, if page-faults
                              // is among the events
  bool wakeups = false;       // a record for every wake-up (BPF back end)
  // More words of `--kernel` ("syscalls", "irq", ...), and `--hook` texts
  // (kernel/hooks/hook_spec.h). Both need the BPF back end.
  std::vector<std::string> kernel_segments, dynamic_hooks;
  bool arguments = false;  // of system calls, which are then recorded
  // What is sampled, as in samples/sample_request.h.
  std::vector<std::string> samples;
  std::string call_graph = "fp";  // ParseCallGraph() there
  bool sample_data = false;       // with data addresses
  // A signal to the programs, as in samples/signal_request.h; empty: none. Not
  // with system_wide.
  std::string signal_every;
  // Shortest time off CPU of which the stack is recorded (BPF back end); 0:
  // none are.
  std::uint64_t off_cpu_ns = 0;
  bool waker_stacks = false;  // also of who wakes such threads
  // Without privilege for one of these, the rest is recorded. Else it is an
  // error.
  bool best_effort = false;
  // The recording goes on until the command and all that it started have ended.
  bool wait_all = false;
  std::string runtime_library;  // path of libcountrace-runtime.so
  bool user_hooks = true;       // false: no program is asked to join
  // Called when the recording has begun, before the command starts, and when it
  // ends; may be empty.
  std::function<void()> begun, ended;
  // Called about ten times a second on the recording thread; may be empty.
  std::function<void(std::uint64_t bytes, std::uint64_t elapsed_ns)> progress;
  // Called while dynamic hooks are attached, before the command starts; may be
  // empty.
  std::function<void(std::size_t done, std::size_t all)> attaching;
  // Called at once, on the recording thread: triggers, snapshots; may be empty.
  std::function<void(const std::string& text)> notice;
};

// What wait4(2) says of a command and of the descendants that it waited for,
// from its fork on. It needs no privilege.
struct CommandUsage {
  std::uint64_t user_ns = 0, system_ns = 0;
  std::uint64_t minor_faults = 0, major_faults = 0;
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
};

struct RecordResult {
  std::string path;
  int command_status = 0;  // wait(2) status; 0 without a command
  bool command_ran = false;
  // From its start to its end; 0 if the recording ended before.
  std::uint64_t command_ns = 0;
  std::optional<CommandUsage> command_usage;
  std::uint64_t records = 0, bytes = 0, streams = 0;
  std::uint64_t elapsed_ns = 0;
  std::uint64_t processes_joined = 0;
  logformat::Loss loss;  // without its messages
  // The trace is not finished, or a part of it was refused or could not be
  // read.
  bool failed = false;
  std::vector<std::string> snapshots;
  // The command's cgroup and those above, where a quota stopped them.
  std::vector<QuotaStops> quota_stops;
  std::vector<std::string> messages;  // missing privileges, losses, remedies
};

// Status payload of a command that did not start: the exit status of a shell,
// "127" (not found) or "126" (cannot be executed).
inline constexpr char kCommandExitPayload[] = "countrace/command-exit";

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_REQUEST_RECORD_OPTIONS_H_
