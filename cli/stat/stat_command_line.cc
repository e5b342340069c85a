#include "cli/stat/stat_command_line.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "cli/program/exit_status.h"
#include "cli/program/gating_options.h"
#include "cli/program/verb.h"
#include "cli/record/record_command_line.h"
#include "logformat/packet_layout.h"
#include "logformat/perf_event_names.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/session_room.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::cli {
namespace {

using absl::InvalidArgumentError;
using runtime::RecordOptions;

constexpr std::uint64_t kMostRuns = 10'000;
constexpr std::uint64_t kLeastEveryNs = 1'000'000;
constexpr std::uint64_t kLeastTopNs = 100'000'000;
// What --top keeps of the recording, more than a busy interval needs.
constexpr std::uint64_t kTopBytes = 24 << 20;

// --top: the target is known to be one at most.
absl::Status CheckTop(const StatCommandLine& line) {
  if (!line.command.empty()) {
    return InvalidArgumentError(
        "--top fills the terminal, which is the command's, too: start it "
        "elsewhere and give -p PID, or -a");
  }
  if (line.json || line.csv || !line.output.empty() || !line.by.empty() ||
      line.repeat != 1 || !line.cost.empty() || line.perfex) {
    return InvalidArgumentError(
        "--top is a screen: leave out --json, --csv, --output, --by, --repeat "
        "and --cost; --every without --top prints lines");
  }
  if (line.every_ns != 0 && line.every_ns < kLeastTopNs) {
    return InvalidArgumentError("--every with --top: at least 100ms");
  }
  return absl::OkStatus();
}

absl::Status CheckTriggers(const StatCommandLine& line) {
  const auto triggers = runtime::ParseTriggers(line.triggers);
  if (!triggers.ok()) return triggers.status();
  for (const runtime::Trigger& trigger : *triggers) {
    if (trigger.bounds_part()) continue;
    return InvalidArgumentError(
        "--trigger: counts take `then start`, `then pause` and `then resume`; "
        "`countrace record` takes snapshots");
  }
  if (!line.triggers.empty() && (line.top || line.every_ns != 0)) {
    return InvalidArgumentError(
        "--trigger leaves out a part of one run: leave out --top and --every");
  }
  return absl::OkStatus();
}

// --prometheus: the machine's metrics, which no other option changes.
absl::Status CheckPrometheus(const StatCommandLine& line) {
  StatCommandLine alone;
  alone.all_cpus = true;
  alone.prometheus = line.prometheus;
  alone.duration_ns = line.duration_ns;
  alone.every_ns = line.every_ns;
  if (line == alone) return absl::OkStatus();
  return InvalidArgumentError(
      "--prometheus has metrics of the machine: give -a, and no command, -p or "
      "other option but --for and --every");
}

absl::Status CheckCombination(const StatCommandLine& line) {
  if (line.every_ns != 0 && line.every_ns < kLeastEveryNs) {
    return InvalidArgumentError("--every: at least 1ms");
  }
  if (!line.prometheus.empty()) return CheckPrometheus(line);
  if (auto status = CheckTriggers(line); !status.ok()) return status;
  const int targets = (line.all_cpus ? 1 : 0) + (line.pids.empty() ? 0 : 1) +
                      (line.cgroup.empty() ? 0 : 1);
  if (targets > 1) {
    return InvalidArgumentError(
        "-a, -p and --cgroup each choose what is counted: give one of them");
  }
  if (line.top) return CheckTop(line);
  if (targets == 0 && line.command.empty()) {
    return InvalidArgumentError(
        "nothing to count: give a command, -p PID for a running process, "
        "--cgroup PATH, or -a for the whole machine");
  }
  if (line.all_events && !line.events.empty()) {
    return InvalidArgumentError("--all counts every event: leave out --event");
  }
  if (line.json && line.csv) {
    return InvalidArgumentError("--json and --csv: give one of the two");
  }
  if (!line.cost.empty() && (line.csv || line.every_ns != 0)) {
    return InvalidArgumentError(
        "--cost is a second table: leave out --csv and --every");
  }
  if (line.perfex) {
    return InvalidArgumentError("--perfex lists counts of --counts FILE");
  }
  if (line.repeat == 0) {
    return InvalidArgumentError("--repeat 0: want 1 or more runs");
  }
  if (line.repeat > 1 && line.command.empty()) {
    return InvalidArgumentError("--repeat runs a command again: give one");
  }
  if (line.repeat > 1 && !line.by.empty()) {
    return InvalidArgumentError(
        "--by has the rows of one run: leave out --repeat");
  }
  if (line.csv && !line.by.empty()) {
    return InvalidArgumentError(
        "CSV holds one table: leave out --by, or give --json");
  }
  const bool of_recording =
      line.repeat > 1 || !line.by.empty() || !line.rotate.empty();
  if (line.every_ns != 0 && of_recording) {
    return InvalidArgumentError(
        "--every reads counters, without a recording: leave out --rotate, "
        "--repeat and --by");
  }
  return absl::OkStatus();
}

struct CountableEvents {
  std::vector<std::string> software, hardware;
};

// Every event that this machine counts on a CPU, or else of a thread where
// `on_task`, but tracepoints.
CountableEvents EveryCountableEvent(bool on_task) {
  CountableEvents events;
  for (const runtime::ListedEvent& event : runtime::ListEvents().events) {
    if (event.kind == runtime::EventKind::kTracepoint) continue;
    if (!event.opens_on_cpu && !(on_task && event.opens_on_task)) {
      // The machine names this one itself, in sysfs.
      if (event.name.ends_with('/')) {
        Say(kStatVerb.name,
            absl::StrFormat("--all: %s is left out: %s",
                            base::EscapeName(event.name), event.why_not));
      }
      continue;
    }
    // task-clock again, on a CPU.
    if (event.name == "cpu-clock") continue;
    if (event.name == logformat::kExecRuntimeEvent &&
        runtime::ProbeBpf().status != runtime::CapabilityStatus::kOk) {
      continue;
    }
    (event.kind == runtime::EventKind::kSoftware ? events.software
                                                 : events.hardware)
        .push_back(event.name);
  }
  return events;
}

// Without a recording: the kernel multiplexes what does not fit.
std::vector<std::string> EveryLiveEvent() {
  CountableEvents events = EveryCountableEvent(/*on_task=*/true);
  std::erase(events.software, logformat::kExecRuntimeEvent);
  std::vector<std::string> names = std::move(events.software);
  names.insert(names.end(), events.hardware.begin(), events.hardware.end());
  return names;
}

// Software events, which always count, then sets of those of the PMU. What does
// not fit into a recording is left out, the last in listing order first.
std::vector<std::string> EveryEvent() {
  auto [software, hardware] = EveryCountableEvent(/*on_task=*/false);
  std::vector<std::string> names = software;
  names.insert(names.end(), hardware.begin(), hardware.end());
  if (hardware.size() < 2) return names;
  runtime::EventChoice choice;
  for (const std::string& name : names) {
    auto event = runtime::ParseEvent(name);
    if (!event.ok()) return names;  // as the recording will say
    const auto same = [&event](const runtime::EventSpec& other) {
      return runtime::CountTheSame(*event, other);
    };
    // A PMU may list one event by two names.
    if (std::ranges::any_of(choice.events, same)) {
      std::erase(hardware, name);
    } else {
      choice.events.push_back(*std::move(event));
    }
  }
  const std::vector<std::string> in_rotation = runtime::InRotation(choice, {});
  const runtime::FittingSets sets = runtime::FitIntoSession(in_rotation);
  if (!sets.left_out.empty()) {
    Say(kStatVerb.name,
        absl::StrFormat("--all: a recording has room for %d events in %d sets; "
                        "left out: %s",
                        logformat::kMaxEvents, logformat::kMaxEventSets,
                        absl::StrJoin(sets.left_out, ", ")));
  }
  std::vector<std::string> refused = hardware;
  for (const std::string& word : in_rotation) {
    const bool set = word.starts_with('{');
    const std::string list = set ? word.substr(1, word.size() - 2) : word;
    for (const std::string& name : runtime::SplitEvents({list})) {
      std::erase(refused, name);
    }
  }
  if (!refused.empty()) {
    Say(kStatVerb.name,
        absl::StrFormat("--all: no counter of this machine takes these now, "
                        "not even one alone: %s",
                        absl::StrJoin(refused, ", ")));
  }
  return sets.words;
}

absl::Status SetPids(const StatCommandLine& line, RecordOptions& record) {
  for (const std::string& text : SplitNames(line.pids)) {
    std::int32_t pid = 0;
    if (!absl::SimpleAtoi(text, &pid) || pid <= 0) {
      return InvalidArgumentError(
          absl::StrFormat("-p %s: not a process id", text));
    }
    record.pids.push_back(pid);
  }
  return absl::OkStatus();
}

// Without kernel records a command has a few numbers only.
absl::Status CheckPrivilege(const StatCommandLine& line, bool has_bpf) {
  if (has_bpf || (line.every_ns != 0 && !line.top) ||
      (line.events.empty() && !line.all_events && line.by.empty() &&
       !line.top)) {
    return absl::OkStatus();
  }
  for (const runtime::Capability& item : runtime::ProbeCapabilities()) {
    if (item.name != "kernel-records" ||
        item.status != runtime::CapabilityStatus::kMissing) {
      continue;
    }
    return absl::PermissionDeniedError(
        absl::StrFormat("--event, --all, --by and --top need kernel records: "
                        "%s%s%s",
                        item.detail, item.fix.empty() ? "" : "; ", item.fix));
  }
  return absl::OkStatus();
}

}  // namespace

void AddStatOptions(VerbParser& parser, StatCommandLine& line) {
  parser.AddFlag("--all-cpus", line.all_cpus);
  parser.AddTexts("--pid", line.pids);
  parser.AddText("--cgroup", line.cgroup);
  parser.AddDuration("--for", line.duration_ns);
  parser.AddDuration("--every", line.every_ns);
  parser.AddTexts("--trigger", line.triggers);
  parser.AddFlag("--top", line.top);
  parser.AddText("--prometheus", line.prometheus);
  parser.AddTexts("--event", line.events);
  parser.AddText("--event-file", line.event_file);
  parser.AddFlag("--all", line.all_events);
  parser.AddText("--rotate", line.rotate);
  parser.AddNumber("--repeat", line.repeat, kMostRuns);
  parser.AddChoice("--by", line.by, {"process", "thread"});
  parser.AddNumber("--rows", line.rows, ~std::uint64_t{0});
  parser.AddText("--output", line.output);
  parser.AddFlag("--json", line.json);
  parser.AddFlag("--csv", line.csv);
  parser.AddText("--cost", line.cost);
  parser.AddText("--counts", line.counts);
  parser.AddFlag("--perfex", line.perfex);
  parser.TakeCommand(line.command);
}

std::string CountedBy(const StatCommandLine& line) {
  if (line.all_cpus || (line.top && line.pids.empty() && line.cgroup.empty())) {
    return "the machine";
  }
  if (!line.cgroup.empty()) return "cgroup " + base::EscapeName(line.cgroup);
  if (!line.pids.empty()) {
    return "pid " + base::EscapeName(absl::StrJoin(line.pids, ","));
  }
  return base::EscapeName(absl::StrJoin(line.command, " "));
}

absl::StatusOr<RecordOptions> StatRecording(const StatCommandLine& line) {
  if (auto status = CheckCombination(line); !status.ok()) return status;
  RecordOptions record;
  if (!line.prometheus.empty()) return record;
  if (auto status = SetPids(line, record); !status.ok()) return status;
  record.command = line.command;
  record.duration_ns = line.duration_ns;
  record.system_wide =
      line.all_cpus || !line.cgroup.empty() || (line.top && line.pids.empty());
  if (!line.cgroup.empty()) {
    if (const auto problem = ParseGatingOptions("", {"cgroup:" + line.cgroup},
                                                record.count, record.marks)) {
      return InvalidArgumentError(*problem);
    }
  }
  if (!line.rotate.empty()) {
    const auto rotate_ns = base::ParseDurationNs(line.rotate, "s");
    if (!rotate_ns) {
      return InvalidArgumentError("--rotate: " + line.rotate +
                                  " is no duration; write it like 10ms or 1s");
    }
    record.rotate_ns = *rotate_ns;
  }
  const bool recorded = line.every_ns == 0 || line.top;
  const bool has_bpf =
      recorded && runtime::ProbeBpf().status == runtime::CapabilityStatus::kOk;
  if (auto status = CheckPrivilege(line, has_bpf); !status.ok()) return status;
  record.events = !line.all_events ? runtime::SplitEvents(line.events)
                  : recorded       ? EveryEvent()
                                   : EveryLiveEvent();
  record.triggers = line.triggers;
  record.user_hooks = line.top || !line.triggers.empty();
  // On which side of a hook a fault lies, its record says.
  record.fault_records = !line.triggers.empty();
  if (line.top) {
    record.mode = logformat::SessionMode::kFlight;
    record.max_bytes = kTopBytes;
    record.sub_buffer_bytes = kTopBytes / 64;
  }
  // Waiting and blocked time; perf rings have no wake-ups.
  record.wakeups = has_bpf;
  return record;
}

}  // namespace countrace::cli
