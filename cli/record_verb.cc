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
#include "cli/help_texts.h"
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
  Say(kRecordVerb.name,
      absl::StrFormat("%s: %s records, %s in %s streams, %s", result.path,
                      FormatCount(result.records), FormatBytes(result.bytes),
                      FormatCount(result.streams),
                      FormatDuration(result.elapsed_ns)));
  Say(kRecordVerb.name,
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
  const int exit_status = ReportFailure(kRecordVerb.name, status);
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
  parser.AddFlag("--all-cpus", record.system_wide);
  parser.AddTexts("--pid", options.pids);
  parser.AddText("--output", record.output);
  parser.AddFlag("--force", record.force);
  parser.AddDuration("--for", record.duration_ns);
  parser.AddTexts("--event", options.events);
  parser.AddTexts("--hook-events", options.hook_events);
  parser.AddText("--rotate", options.rotate);
  parser.AddTexts("--dump", record.dump_rules);
  parser.AddText("--dry-run-rules", options.dry_run_trace);
  parser.AddFormat(options.format, {"text", "json", "jsonl", "csv"});
  parser.AddText("--hooks", record.hook_filter);
  parser.AddChoice("--mode", options.mode, {"stream", "discard"});
  parser.AddBytes("--flight", options.flight_bytes);
  parser.AddTexts("--trigger", record.triggers);
  parser.AddBytes("--size", record.max_bytes);
  parser.AddBytes("--sub-buffer-size", record.sub_buffer_bytes);
  parser.AddNumber("--sub-buffers", options.sub_buffers, 1024);
  parser.AddBytes("--kernel-ring", record.kernel_ring_bytes);
  parser.AddChoice("--backend", options.backend,
                   {"auto", "bpf", "perf", "lttng"});
  parser.AddTexts("--kernel", options.kernel_records);
  parser.AddTexts("--hook", record.dynamic_hooks);
  parser.AddTexts("--mark", options.marks);
  parser.AddText("--count", options.count);
  parser.AddFlag("--no-kernel", options.no_kernel);
  parser.AddFlag("--no-fault-records", options.no_fault_records);
  parser.AddFailOnLoss(options.fail_on_loss);
  parser.AddFlag("--quiet", options.quiet);
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
  if (!library.ok()) return ReportFailure(kRecordVerb.name, library.status());
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
      Say(kRecordVerb.name, message);
    }
    Say(kRecordVerb.name,
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

int RunRecord(const Arguments& arguments) {
  VerbParser parser(kRecordVerb);
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
  if (!library.ok()) return ReportFailure(kRecordVerb.name, library.status());
  record.runtime_library = *std::move(library);

  const bool unbounded = record.command.empty() && record.duration_ns == 0;
  if (unbounded && !options.quiet) {
    Say(kRecordVerb.name, record.pids.empty()
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
    Say(kRecordVerb.name, text);
  };
  const auto result = runtime::Record(record);
  progress.Clear();
  if (!result.ok()) return FailedStatus(result.status());

  if (!options.quiet || result->discarded > 0) {
    for (const std::string& message : result->messages) {
      Say(kRecordVerb.name, message);
    }
    for (const std::string& snapshot : result->snapshots) {
      Say(kRecordVerb.name, "snapshot: " + snapshot);
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

}  // namespace

const Verb kRecordVerb = {"record", kRecordHelp, RunRecord};

}  // namespace countrace::cli
