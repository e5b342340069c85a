// The recorder behind `countrace record`: creates the trace directory, starts
// the command with the runtime library preloaded, records the kernel side, and
// finishes the trace whatever happens.
#ifndef COUNTRACE_RUNTIME_RECORDER_RECORD_H_
#define COUNTRACE_RUNTIME_RECORDER_RECORD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/gating.h"
#include "logformat/mark_spec.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/session/kernel_backend.h"

namespace countrace::runtime {

struct RecordOptions {
  std::string output = "countrace.ctf";
  bool force = false;        // replace an existing trace
  bool system_wide = false;  // -a
  // Record these running processes, and what they fork from now on, until all
  // have ended. Those with hooks join, whether they were started for it or not.
  std::vector<std::int32_t> pids;
  // Who is marked beside the command or `pids`, and what is counted
  // (recorded_gating.h says what if it is not given).
  std::vector<logformat::MarkSpec> marks;
  std::optional<logformat::Gating> count;
  // May be empty with system_wide or pids; with pids it only says how long.
  std::vector<std::string> command;
  std::uint64_t duration_ns = 0;  // 0: until the command ends or a signal
  // Names as perf spells them. Empty: task-clock, cpu-clock, page-faults,
  // context-switches, and cycles, instructions where the machine has them.
  std::vector<std::string> events;
  // Counters read at each user hook; empty: none.
  std::vector<std::string> hook_events;
  // How long each event set ("{a,b}" in `events` or `hook_events`) has its
  // turn.
  std::uint64_t rotate_ns = 10'000'000;
  // At user hooks: each instance of a thread's outermost segment is a turn.
  bool rotate_instances = false;
  std::string hook_filter;  // globs separated by ','
  // Which records of hooks carry counters, as dump_rule_text.h spells them: of
  // user hooks `hook_events`, of kernel hooks `events`. Empty: all of user
  // hooks, of kernel hooks dynamic ones and those whose counts nothing else
  // tells.
  std::vector<std::string> dump_rules;
  // When to take a snapshot, or to end, as trigger_text.h spells it.
  std::vector<std::string> triggers;
  logformat::SessionMode mode = logformat::SessionMode::kStream;
  std::uint64_t sub_buffer_bytes = 1 << 20;
  std::uint32_t sub_buffers = 4;
  // Discard mode: limit of the thread streams. Flight mode: what is kept of all
  // streams together.
  std::uint64_t max_bytes = 64 << 20;
  KernelBackend backend = KernelBackend::kAuto;
  std::uint64_t kernel_ring_bytes = 8 << 20;  // per CPU
  bool kernel = true;                         // false: user hooks only
  bool fault_records = true;  // a record for every page fault, if page-faults
                              // is among the events
  bool wakeups = false;       // a record for every wake-up (BPF back end)
  // Words of `--kernel` beside that ("syscalls", "irq", ...), and `--hook`
  // texts (kernel/hooks/hook_spec.h); both need the BPF back end.
  std::vector<std::string> kernel_segments, dynamic_hooks;
  std::string runtime_library;  // path of libcountrace-runtime.so
  // Called about ten times a second on the recording thread; may be empty.
  std::function<void(std::uint64_t bytes, std::uint64_t elapsed_ns)> progress;
  // Told at once, on the recording thread: triggers, snapshots; may be empty.
  std::function<void(const std::string& text)> notice;
};

struct RecordResult {
  std::string path;
  int command_status = 0;  // wait(2) status; 0 without a command
  bool command_ran = false;
  std::uint64_t records = 0, bytes = 0, streams = 0;
  std::uint64_t elapsed_ns = 0;
  std::uint64_t processes_joined = 0;
  std::uint64_t discarded = 0;
  std::uint64_t overwritten = 0;  // of them; flight mode
  std::vector<std::string> snapshots;
  std::vector<std::string> messages;  // missing privileges, losses, remedies
};

// Status payload of a command that did not start: the exit status a shell would
// give, "127" (not found) or "126" (cannot be executed).
inline constexpr char kCommandExitPayload[] = "countrace/command-exit";

// Blocks until the recording is finished. SIGINT and SIGTERM stop it and still
// finish the trace; a second one stops waiting for the command.
// Returns: ALREADY_EXISTS output exists and !force; INVALID_ARGUMENT unknown
// event (message names it and `countrace list events`); PERMISSION_DENIED
// system_wide or pids without privilege (message names capability and sysctl);
// NOT_FOUND command not found, or one of pids is no process;
// FAILED_PRECONDITION the output is there and is no trace, or is being
// recorded; RESOURCE_EXHAUSTED disk.
absl::StatusOr<RecordResult> Record(const RecordOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_RECORD_H_
