#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/quantity_parse.h"
#include "cli/dump_rules_dry_run.h"
#include "cli/exit_status.h"
#include "cli/gating_options.h"
#include "cli/open_trace.h"
#include "cli/progress_bar.h"
#include "cli/quantity.h"
#include "cli/runtime_library.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/hooks/hook_spec.h"
#include "runtime/recorder/lttng/lttng_record.h"
#include "runtime/recorder/record.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::cli {
namespace {

using runtime::RecordOptions;
using runtime::RecordResult;

constexpr VerbText kText = {
    .name = "record",
    .summary = "run a command, or watch the whole machine, into a trace",
    .usage =
        "[options] [--] COMMAND [ARGUMENTS...]\n"
        "-a [options] [[--] COMMAND [ARGUMENTS...]]\n"
        "-p PID[,PID...] [options] [[--] COMMAND [ARGUMENTS...]]\n"
        "--dry-run-rules TRACE --dump RULE...",
    .details =
        "Programs with countrace hooks are recorded as they are: nothing to\n"
        "link, nothing to rebuild. Kernel records (who ran when, with its\n"
        "counts) need root or CAP_PERFMON; hooks do not.\n"
        "\n"
        "Processes with hooks that run already join with -p and -a, if the\n"
        "runtime library is in them (linked, or preloaded at their start) and\n"
        "their user may write the trace; others are named with the reason.\n"
        "\n"
        "Ctrl-C ends the recording and still finishes the trace.\n"
        "\n"
        "--backend lttng runs the command in an LTTng session of its own, with "
        "an\n"
        "lttng-sessiond of its own: the hooks appear as `countrace:enter`,\n"
        "`countrace:exit` and `countrace:hook`, --event adds counters as "
        "contexts\n"
        "(perf:thread:*), and the trace is LTTng's. Needs lttng-tools.\n"
        "\n"
        "A dump rule says which records of hooks carry counters: of user "
        "hooks\n"
        "those of --hook-events, of kernel-side hooks (--kernel, --hook) those "
        "of\n"
        "--event. Without one all user hooks do. RULE is [GLOB] [CLAUSE...]: "
        "a\n"
        "glob on provider:name (default all hooks), and what must hold:\n"
        "\n"
        "  always, never       (alone behind the glob; no clause is `always`)\n"
        "  every N             each N-th of a hook in a thread\n"
        "  at most every T     this long after the last: 500us, 10ms, 2s\n"
        "  every N ticks       the first in each N ticks of the kernel's "
        "clock\n"
        "  if arg0 > 4096      a payload value, arg0 to arg5, against a "
        "number\n"
        "                      or \"text\": == != < <= > >= & (and ...)\n"
        "  from libfoo.so      where the hook stands: a program or library,\n"
        "                      libfoo.so+0x1000-0x2000, 0x401000-0x402000\n"
        "\n"
        "At kernel-side hooks arg0 to arg5 are the arguments of the function,\n"
        "system call or USDT probe, or a tracepoint's fields, all numbers;\n"
        "there also `ret`, what the code returned (it chooses exits; each "
        "enter\n"
        "carries counters then), and `number`, of the system call or "
        "interrupt;\n"
        "`from` is who calls the function.\n"
        "\n"
        "All clauses of a rule must hold; `every N` counts what meets `if` "
        "and\n"
        "`from`. Of several rules the first whose glob matches a hook decides\n"
        "for it; hooks that no rule matches carry no counters. An exit "
        "carries\n"
        "them if its enter did. --dry-run-rules replays a trace and prints "
        "how\n"
        "many dumps, and bytes, each rule would have given.\n"
        "\n"
        "A trigger takes a snapshot, TRACE.snapshot-1, -2, ..., when "
        "something\n"
        "happens: with --flight of the newest records, else a copy of the "
        "trace\n"
        "so far. --trigger may be given more than once:\n"
        "\n"
        "  segment GLOB > T    a call of a segment longer than T: 500us, "
        "20ms;\n"
        "                      one that has not ended by then, too (a hang)\n"
        "  hook GLOB           a point hook, or the enter of a segment\n"
        "  signal NAME         sent to the recorder: SIGUSR2, SIGRTMIN+1\n"
        "\n"
        "GLOB is on provider:name: hooks of programs, and those of --kernel "
        "and\n"
        "--hook. Behind it:\n"
        "\n"
        "  after T             wait, for what follows (default 10ms)\n"
        "  at most every T     (default 1s); at most N times (default no "
        "limit)\n"
        "  then stop           no copy: end the recording\n"
        "\n"
        "Programs and the kernel pay nothing for triggers: the recorder looks "
        "at\n"
        "the records every 10 ms. `info` of a snapshot says why it was taken.\n"
        "SIGUSR1 always takes one.\n"
        "\n"
        "Marked are the command, or the processes of -p, and whom --mark "
        "names\n"
        "(with -a and --mark only these): processes that match when the "
        "recording\n"
        "begins, or later get such a name, user or cgroup. Children inherit "
        "the\n"
        "mark, exec keeps it. --count chooses what is counted, of user code "
        "and\n"
        "kernel, and of marked and unmarked processes; what it does not name "
        "of\n"
        "the two counts both:\n"
        "\n"
        "  --count user,marked       user code of marked processes\n"
        "  --count unmarked          everything but them (--mark self: all "
        "but\n"
        "                            the recorder)\n"
        "  --count 01001             the same as five bits of the POWER2 "
        "monitor:\n"
        "                            DIS DP DU DMS DMR, each of which stops\n"
        "\n"
        "Of processes that are not counted only the time is kept, as the "
        "account\n"
        "`outside`. With one mode, events count that mode (`page-faults:u`); "
        "what\n"
        "cannot be split (clocks, switches, tracepoints) is refused.\n"
        "\n"
        "exit status: that of the command (128 + N if signal N ended it, 127 "
        "if\n"
        "it was not found, 126 if it could not be run); without a command 0.\n"
        "1 recording failed, 2 wrong usage, 3 records were lost (only with\n"
        "--fail-on-loss), 5 privilege missing.\n",
    .examples =
        "# one command with its children, into ./countrace.ctf\n"
        "countrace record -- ./server --bench\n"
        "\n"
        "# the whole machine while a command runs\n"
        "countrace record -a -o web.ctf -- ./server --bench\n"
        "\n"
        "# a running process, its threads and what it forks, for ten "
        "seconds\n"
        "countrace record -p $(pidof redis-server) --for 10s\n"
        "\n"
        "# the whole machine for ten seconds\n"
        "countrace record -a --for 10s\n"
        "\n"
        "# what the compiler's processes do in the kernel, whoever starts "
        "them\n"
        "countrace record -a --for 10s --mark 'cc1*' --count kernel,marked\n"
        "\n"
        "# a function of a running server, and the system calls in it\n"
        "countrace record -a --for 9s --kernel syscalls --hook "
        "uprobe:redis-server:call\n"
        "\n"
        "# a flight recorder: the newest 64 MiB of the whole machine\n"
        "countrace record -a --flight 64M &\n"
        "countrace snapshot -o slow.ctf countrace.ctf\n"
        "\n"
        "# what led to a slow request, whenever one comes\n"
        "countrace record -a --flight 64M --trigger 'segment web:get > 20ms'\n"
        "\n"
        "# the same hooks in an LTTng trace\n"
        "countrace record --backend lttng -o web.lttng -- ./server --bench\n"
        "\n"
        "# other events; counts of page faults at each hook\n"
        "countrace record -a -e task-clock,page-faults --hook-events "
        "page-faults -- ./server\n"
        "\n"
        "# more events than the PMU has counters: sets that take turns\n"
        "countrace record -a --for 10s -e '{cycles,instructions},"
        "{cache-misses,r01c2}'\n"
        "\n"
        "# counters at each hundredth call only; what that would have given\n"
        "countrace record --hook-events page-faults --dump 'every 100' "
        "./server\n"
        "countrace record --dry-run-rules web.ctf --dump 'server:* every "
        "100'\n",
};

// "a,b" -> a, b. A comma between slashes belongs to a name:
// "cpu/event=0x3c,umask=1/,page-faults".
std::vector<std::string> SplitNames(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    std::string name;
    bool in_slashes = false;
    for (const char c : list + ",") {
      if (c == '/') in_slashes = !in_slashes;
      if (c != ',' || in_slashes) {
        name += c;
      } else if (!name.empty()) {
        names.push_back(std::exchange(name, {}));
      }
    }
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// What the shell would have said of the command.
int CommandExitStatus(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

// Options that say what LTTng has no words for, or what its own are for.
constexpr const char* kNotWithLttng[] = {
    "--all-cpus",      "--pid",         "--hook-events",
    "--rotate",        "--dump",        "--mode",
    "--flight",        "--trigger",     "--size",
    "--kernel",        "--hook",        "--mark",
    "--count",         "--kernel-ring", "--no-fault-records",
    "--dry-run-rules", "--format"};

void SaySummary(const RecordResult& result) {
  Say(kText.name,
      absl::StrFormat("%s: %s records, %s in %s streams, %s", result.path,
                      FormatCount(result.records), FormatBytes(result.bytes),
                      FormatCount(result.streams),
                      FormatDuration(result.elapsed_ns)));
  Say(kText.name,
      absl::StrFormat(
          "%s processes with hooks joined; %s",
          FormatCount(result.processes_joined),
          result.discarded == 0 ? std::string("nothing was lost")
          : result.discarded == result.overwritten
              ? FormatCount(result.overwritten) +
                    " older event records were overwritten"
              : FormatCount(result.discarded) + " event records were lost"));
}

int FailedStatus(const absl::Status& status) {
  const int exit_status = ReportFailure(kText.name, status);
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  const auto command_exit = status.GetPayload(runtime::kCommandExitPayload);
  if (command_exit.has_value()) return *command_exit == "127" ? 127 : 126;
  return exit_status;
}

struct Options {
  RecordOptions record;
  std::vector<std::string> events, hook_events, pids, kernel_records;
  std::string mode = "stream";
  std::uint64_t sub_buffers = 4;
  std::uint64_t flight_bytes = 0;
  std::string backend = "auto";
  std::string dry_run_trace, format;
  std::string rotate;
  std::string count;
  std::vector<std::string> marks;
  bool no_kernel = false, no_fault_records = false;
  bool quiet = false, fail_on_loss = false;
};

void AddOptions(VerbParser& parser, Options& options) {
  RecordOptions& record = options.record;
  parser.AddFlag("-a,--all-cpus", record.system_wide,
                 "the whole machine, not only the command");
  parser.AddTexts("-p,--pid", "PIDS", options.pids,
                  "running processes, separated by commas, and what they fork "
                  "from now on; those with the runtime library in them join "
                  "with their hooks; ends when they do; a command is then not "
                  "recorded, it says how long");
  parser.AddText("-o,--output", "DIR", record.output,
                 "the trace to make (default countrace.ctf)");
  parser.AddFlag("--force", record.force, "replace an existing trace");
  parser.AddDuration("--for", record.duration_ns,
                     "end after this time, for example 10s");
  parser.AddTexts(
      "-e,--event", "EVENTS", options.events,
      "events to count, as perf spells them, separated by commas; see "
      "`countrace list events` (default: task-clock, cpu-clock, page-faults, "
      "context-switches, and cycles, instructions where the machine has them)");
  parser.AddTexts("--hook-events", "EVENTS", options.hook_events,
                  "counters to read at each user hook (default none)");
  parser.AddText("--rotate", "DURATION|instance", options.rotate,
                 "how long each event set has its turn, if there are "
                 "several: -e '{a,b},{c,d}' (default 10ms); at user hooks "
                 "(--hook-events) a turn begins with an outermost segment, and "
                 "`instance` gives each of them another set");
  parser.AddTexts("--dump", "RULE", record.dump_rules,
                  "dump rule: which records of hooks carry counters; may "
                  "be given more than once, see below");
  parser.AddText("--dry-run-rules", "TRACE", options.dry_run_trace,
                 "record nothing; print what the rules would have given there");
  parser.AddFormat(options.format, {"text", "json", "jsonl", "csv"});
  parser.AddText("--hooks", "GLOBS", record.hook_filter,
                 "only hooks whose provider:name matches one of these globs, "
                 "separated by commas (default all)");
  parser.AddChoice("--mode", "MODE", options.mode, {"stream", "discard"},
                   "stream: the trace grows on disk (default); discard: at "
                   "most --size bytes, the newest records are lost");
  parser.AddBytes("--flight", options.flight_bytes,
                  "keep the newest SIZE of all streams together and overwrite "
                  "the oldest; `countrace snapshot`, SIGUSR1 and the end make "
                  "a trace of it");
  parser.AddTexts("--trigger", "TRIGGER", record.triggers,
                  "take a snapshot when this happens; may be given more than "
                  "once, see below");
  parser.AddBytes("--size", record.max_bytes,
                  "limit of all thread streams together, with --mode discard "
                  "(default 64M)");
  parser.AddBytes("--sub-buffer-size", record.sub_buffer_bytes,
                  "largest sub-buffer of a thread (default 1M)");
  parser.AddNumber("--sub-buffers", "N", options.sub_buffers, 1024,
                   "sub-buffers kept ready for each thread (default 4)");
  parser.AddBytes("--kernel-ring", record.kernel_ring_bytes,
                  "kernel buffer of each CPU (default 8M)");
  parser.AddChoice("--backend", "NAME", options.backend,
                   {"auto", "bpf", "perf", "lttng"},
                   "where kernel records come from: bpf costs least, perf "
                   "rings work without BPF (default auto: bpf if it works); "
                   "lttng: hooks as LTTng-UST events, into an LTTng trace");
  parser.AddTexts("--kernel", "WHAT", options.kernel_records,
                  "record also, separated by commas: syscalls, faults (as "
                  "segments of the threads), irq, softirq (as accounts of the "
                  "CPUs), block (requests to disks, as points), wakeups (who "
                  "makes whom runnable; then `wait` is the whole run-queue "
                  "wait); needs BPF");
  parser.AddTexts("--hook", "HOOK", record.dynamic_hooks,
                  "record, with counters, at uprobe:FILE:FUNCTION, "
                  "usdt:FILE:PROVIDER:NAME, tracepoint:SYSTEM:NAME or "
                  "tracepoint:SYSTEM:ENTER/EXIT; globs and repeats are "
                  "allowed; needs BPF");
  parser.AddTexts("--mark", "WHO", options.marks,
                  "mark processes, separated by commas: PID, self (this "
                  "recorder), a glob on the command's name, user:NAME, "
                  "cgroup:/PATH; see below");
  parser.AddText("--count", "WHAT", options.count,
                 "what is counted: user, kernel, marked, unmarked, separated "
                 "by commas, all or none; see below (default: marked with "
                 "--mark or a command, else all)");
  parser.AddFlag("--no-kernel", options.no_kernel, "record user hooks only");
  parser.AddFlag("--no-fault-records", options.no_fault_records,
                 "count page faults, but do not record each one");
  parser.AddFailOnLoss(options.fail_on_loss);
  parser.AddFlag("-q,--quiet", options.quiet,
                 "say nothing unless it fails or loses records");
}

int RecordIntoLttng(const VerbParser& parser, const Options& options) {
  for (const char* option : kNotWithLttng) {
    if (!parser.is_given(option)) continue;
    return parser.UsageError(absl::StrFormat(
        "%s is not possible with --backend lttng: leave one of the two out",
        option));
  }
  const RecordOptions& record = options.record;
  if (record.command.empty()) {
    return parser.UsageError(
        "--backend lttng records a command: give one behind --");
  }
  auto library = FindLttngLibrary();
  if (!library.ok()) return ReportFailure(kText.name, library.status());
  runtime::LttngRecordOptions lttng;
  lttng.output = record.output;
  lttng.force = record.force;
  lttng.command = record.command;
  lttng.duration_ns = record.duration_ns;
  lttng.events = SplitNames(options.events);
  lttng.hook_filter = record.hook_filter;
  lttng.sub_buffer_bytes = record.sub_buffer_bytes;
  lttng.sub_buffers = static_cast<std::uint32_t>(options.sub_buffers);
  lttng.kernel = !options.no_kernel;
  lttng.provider_library = *std::move(library);
  const auto result = runtime::RecordWithLttng(lttng);
  if (!result.ok()) return FailedStatus(result.status());
  if (!options.quiet || result->discarded > 0) {
    for (const std::string& message : result->messages) {
      Say(kText.name, message);
    }
    Say(kText.name,
        absl::StrFormat(
            "%s: an LTTng trace, %s, %s; %s", result->path,
            FormatBytes(result->bytes), FormatDuration(result->elapsed_ns),
            result->discarded == 0
                ? std::string("nothing was lost")
                : FormatCount(result->discarded) + " events were lost"));
  }
  const int status = CommandExitStatus(result->command_status);
  if (status != 0) return status;
  return options.fail_on_loss && result->discarded != 0 ? kExitLoss : kExitOk;
}

}  // namespace

int RunRecord(const Arguments& arguments) {
  VerbParser parser(kText);
  Options options;
  RecordOptions& record = options.record;
  AddOptions(parser, options);
  parser.TakeCommand(record.command);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (options.backend == "lttng") return RecordIntoLttng(parser, options);

  const auto rules = runtime::ParseDumpRules(record.dump_rules);
  if (!rules.ok()) {
    return parser.UsageError(std::string(rules.status().message()));
  }
  if (parser.is_given("--dry-run-rules")) {
    if (!record.command.empty()) {
      return parser.UsageError("--dry-run-rules runs no command");
    }
    if (rules->empty()) {
      return parser.UsageError(
          "--dry-run-rules tries out dump rules: give one with --dump, for "
          "example --dump 'server:* every 100'");
    }
    return DryRunDumpRules({options.dry_run_trace, *rules,
                            runtime::SplitEvents(options.hook_events).size(),
                            options.format});
  }
  if (const auto triggers = runtime::ParseTriggers(record.triggers);
      !triggers.ok()) {
    return parser.UsageError(std::string(triggers.status().message()));
  }
  const bool kernel_records =
      !options.kernel_records.empty() || !record.dynamic_hooks.empty();
  if (!rules->empty() && options.hook_events.empty() && !kernel_records) {
    return parser.UsageError(
        "--dump says which hook records carry counters: say which counters "
        "with --hook-events, for example --hook-events page-faults, or record "
        "kernel-side hooks with --kernel or --hook");
  }
  if (parser.is_given("--format")) {
    return parser.UsageError("--format is of --dry-run-rules");
  }
  for (const std::string& text : SplitNames(options.pids)) {
    std::int32_t pid = 0;
    if (!absl::SimpleAtoi(text, &pid) || pid <= 0) {
      return parser.UsageError(
          absl::StrFormat("-p %s: not a process id", text));
    }
    record.pids.push_back(pid);
  }
  for (const std::string& what : SplitNames(options.kernel_records)) {
    if (what == "wakeups") {
      record.wakeups = true;
      continue;
    }
    const auto& words = runtime::KernelSegmentWords();
    if (std::find(words.begin(), words.end(), what) == words.end()) {
      return parser.UsageError(
          absl::StrFormat("--kernel %s: not known; there are wakeups, %s", what,
                          absl::StrJoin(words, ", ")));
    }
    record.kernel_segments.push_back(what);
  }
  if (options.rotate == "instance") {
    record.rotate_instances = true;
  } else if (!options.rotate.empty()) {
    const auto rotate_ns = base::ParseDurationNs(options.rotate, "s");
    if (!rotate_ns) {
      return parser.UsageError("--rotate: " + options.rotate +
                               " is no duration and not \"instance\"; write it "
                               "like 10ms or 1s");
    }
    record.rotate_ns = *rotate_ns;
  }
  if (const auto problem = ParseGatingOptions(options.count, options.marks,
                                              record.count, record.marks)) {
    return parser.UsageError(*problem);
  }
  if (record.system_wide && !record.pids.empty()) {
    return parser.UsageError(
        "-a records the processes of -p already: give one of the two");
  }
  if (kernel_records && options.no_kernel) {
    return parser.UsageError(
        "--kernel or --hook and --no-kernel contradict each other");
  }
  if (record.command.empty() && !record.system_wide && record.pids.empty()) {
    return parser.UsageError(
        "nothing to record: give a command, -p PID for a running process, or "
        "-a for the whole machine");
  }
  if (options.mode == "stream" && parser.is_given("--size")) {
    return parser.UsageError(
        "--size limits `--mode discard`; in stream mode the trace grows");
  }
  record.events = runtime::SplitEvents(options.events);
  record.hook_events = runtime::SplitEvents(options.hook_events);
  record.mode = options.mode == "discard" ? logformat::SessionMode::kDiscard
                                          : logformat::SessionMode::kStream;
  if (options.flight_bytes != 0) {
    if (parser.is_given("--mode") || parser.is_given("--size")) {
      return parser.UsageError(
          "--flight is a mode with a size of its own: "
          "leave out --mode and --size");
    }
    record.mode = logformat::SessionMode::kFlight;
    record.max_bytes = options.flight_bytes;
    // Small against the whole, so that little more than a record is overwritten
    // for a record.
    if (!parser.is_given("--sub-buffer-size")) {
      record.sub_buffer_bytes = std::clamp<std::uint64_t>(
          options.flight_bytes / 64, 64 << 10, 1 << 20);
    }
  }
  record.sub_buffers = static_cast<std::uint32_t>(options.sub_buffers);
  record.kernel = !options.no_kernel;
  record.backend = options.backend == "bpf"    ? runtime::KernelBackend::kBpf
                   : options.backend == "perf" ? runtime::KernelBackend::kPerf
                                               : runtime::KernelBackend::kAuto;
  record.fault_records = !options.no_fault_records;
  auto library = FindRuntimeLibrary();
  if (!library.ok()) return ReportFailure(kText.name, library.status());
  record.runtime_library = *std::move(library);

  const bool unbounded = record.command.empty() && record.duration_ns == 0;
  if (unbounded && !options.quiet) {
    Say(kText.name, record.pids.empty()
                        ? "recording the whole machine; Ctrl-C ends"
                        : "recording until the processes end or Ctrl-C");
  }
  // Beside a running command the terminal is the command's.
  ProgressBar progress(
      "recording", ShowProgress() && record.command.empty() && !options.quiet);
  record.progress = [&](std::uint64_t bytes, std::uint64_t elapsed_ns) {
    progress.Update(FormatClock(elapsed_ns) + ", " + FormatBytes(bytes));
  };
  record.notice = [&](const std::string& text) {
    if (options.quiet) return;
    progress.Clear();
    Say(kText.name, text);
  };
  const auto result = runtime::Record(record);
  progress.Clear();
  if (!result.ok()) return FailedStatus(result.status());

  if (!options.quiet || result->discarded > 0) {
    for (const std::string& message : result->messages) {
      Say(kText.name, message);
    }
    for (const std::string& snapshot : result->snapshots) {
      Say(kText.name, "snapshot: " + snapshot);
    }
    SaySummary(*result);
  }
  if (result->command_ran) {
    const int status = CommandExitStatus(result->command_status);
    if (status != 0) return status;
  }
  return options.fail_on_loss && result->discarded > result->overwritten
             ? kExitLoss
             : kExitOk;
}

}  // namespace countrace::cli
