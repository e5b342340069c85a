#include "cli/record/record_request.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "cli/program/gating_options.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/hooks/hook_spec.h"
#include "runtime/recorder/request/sample_request.h"
#include "runtime/recorder/request/signal_request.h"
#include "runtime/rules/dump_rule_text.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::cli {
namespace {

using absl::InvalidArgumentError;
using runtime::RecordOptions;

constexpr std::uint64_t kLeastPacketBytes = 64 << 10;
constexpr std::uint64_t kRingsOfArguments = 4;
constexpr std::uint64_t kLeastFlightBytes = 4 * kLeastPacketBytes;

// Checks options that exclude or require each other.
absl::Status CheckCombination(const VerbParser& parser,
                              const RecordCommandLine& line,
                              const RecordOptions& record) {
  if (!record.dump_rules.empty() && line.hook_events.empty() &&
      !line.records_kernel_hooks()) {
    return InvalidArgumentError(
        "--dump selects hook records that carry counters: choose the counters "
        "with --hook-events, for example --hook-events page-faults, or record "
        "kernel-side hooks with --kernel or --hook");
  }
  if (parser.is_given("--format")) {
    return InvalidArgumentError("--format needs --dry-run-rules");
  }
  if (record.system_wide && !record.pids.empty()) {
    return InvalidArgumentError(
        "-a records the processes of -p already: give one of the two");
  }
  if (line.records_kernel_hooks() && line.no_kernel) {
    return InvalidArgumentError(
        "--kernel or --hook and --no-kernel contradict each other");
  }
  if (!record.samples.empty() && line.no_kernel) {
    return InvalidArgumentError(
        "--sample and --no-kernel contradict each other: samples are kernel "
        "records");
  }
  if (!record.signal_every.empty() && record.system_wide) {
    return InvalidArgumentError(
        "--signal-every is for a command or -p PID: of all programs of the "
        "machine hardly one expects the signal");
  }
  if (record.off_cpu_ns != 0 && line.no_kernel) {
    return InvalidArgumentError(
        "--offcpu and --no-kernel contradict each other: stacks off CPU are "
        "kernel records");
  }
  if (record.waker_stacks && record.off_cpu_ns == 0) {
    return InvalidArgumentError(
        "--wakeup-stacks are of threads that --offcpu records: give the "
        "shortest time off CPU, too: --offcpu 1ms");
  }
  if (record.samples.empty() && record.off_cpu_ns == 0 &&
      parser.is_given("--call-graph")) {
    return InvalidArgumentError(
        "--call-graph says how stacks of samples are followed: it needs "
        "--sample or --offcpu, for example --sample 199");
  }
  if (record.samples.empty() && record.sample_data) {
    return InvalidArgumentError(
        "--data stores the data address of each sample: it needs --sample, "
        "for example --sample every=100:page-faults");
  }
  if (record.command.empty() && !record.system_wide && record.pids.empty()) {
    return InvalidArgumentError(
        "nothing to record: give a command, -p PID for a running process, or "
        "-a for the whole machine");
  }
  if (line.mode == "stream" && parser.is_given("--size") &&
      line.flight.empty()) {
    return InvalidArgumentError(
        "--size limits `--mode discard`; in stream mode the trace grows");
  }
  return absl::OkStatus();
}

absl::Status SetPids(const RecordCommandLine& line, RecordOptions& record) {
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

absl::Status SetKernelRecords(const RecordCommandLine& line,
                              RecordOptions& record) {
  const std::vector<std::string>& words = runtime::KernelSegmentWords();
  std::set<std::string> seen;
  if (record.arguments) {
    seen.insert("syscalls");
    record.kernel_segments.emplace_back("syscalls");
  }
  for (const std::string& what : SplitNames(line.kernel_records)) {
    if (!seen.insert(what).second) continue;
    if (what == "wakeups") {
      record.wakeups = true;
    } else if (std::find(words.begin(), words.end(), what) != words.end()) {
      record.kernel_segments.push_back(what);
    } else {
      return InvalidArgumentError(
          absl::StrFormat("--kernel %s: not known; there are wakeups, %s", what,
                          absl::StrJoin(words, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::Status SetRotation(const RecordCommandLine& line, RecordOptions& record) {
  if (line.rotate == "instance") {
    record.rotate_instances = true;
  } else if (!line.rotate.empty()) {
    const auto rotate_ns = base::ParseDurationNs(line.rotate, "s");
    if (!rotate_ns) {
      return InvalidArgumentError("--rotate: " + line.rotate +
                                  " is no duration and not \"instance\"; "
                                  "write it like 10ms or 1s");
    }
    record.rotate_ns = *rotate_ns;
  }
  return absl::OkStatus();
}

// --split TIME: a flight recording with a snapshot each TIME. Each has a little
// of the one before, as the recorder may be late.
absl::Status SetSplit(RecordCommandLine& line, RecordOptions& record) {
  constexpr std::uint64_t kLeastNs = 1'000'000'000;
  if (line.keep_ns != 0) {
    if (line.split_ns == 0 && record.triggers.empty()) {
      return InvalidArgumentError(
          "--keep removes old snapshots: it needs --split or --trigger");
    }
    record.keep_ns = line.keep_ns;
  }
  if (line.split_ns == 0) return absl::OkStatus();
  if (!line.flight.empty()) {
    return InvalidArgumentError(
        "--split is a flight recording of its own: leave out --flight");
  }
  if (line.split_ns < kLeastNs) {
    return InvalidArgumentError("--split: at least 1s");
  }
  line.flight = base::PrintDurationNs(line.split_ns +
                                      std::max(line.split_ns / 10, kLeastNs));
  record.triggers.push_back("every " + base::PrintDurationNs(line.split_ns));
  if (!record.keep_ns) record.keep_ns = ~std::uint64_t{0};
  return absl::OkStatus();
}

// --flight SIZE, or --flight TIME with a limit of bytes.
absl::Status SetFlight(const VerbParser& parser, const RecordCommandLine& line,
                       RecordOptions& record) {
  if (parser.is_given("--mode")) {
    return InvalidArgumentError("--flight is a mode: leave out --mode");
  }
  record.mode = logformat::SessionMode::kFlight;
  if (const auto bytes = base::ParseBytes(line.flight)) {
    if (parser.is_given("--size")) {
      return InvalidArgumentError(
          "--flight SIZE has its own size: leave out --size");
    }
    record.max_bytes = *bytes;
  } else if (const auto age_ns = base::ParseDurationNs(line.flight)) {
    record.flight_ns = *age_ns;
    if (!parser.is_given("--size")) {
      std::error_code error;
      const std::filesystem::path output(record.output);
      const auto disk = std::filesystem::space(
          output.has_parent_path() ? output.parent_path() : ".", error);
      record.max_bytes = std::max<std::uint64_t>(error ? 0 : disk.available / 4,
                                                 RecordOptions().max_bytes);
    }
  } else {
    return InvalidArgumentError(
        absl::StrFormat("--flight %s: no size (64M) and no time (1h)",
                        base::EscapeName(line.flight)));
  }
  if (record.max_bytes < kLeastFlightBytes) {
    return InvalidArgumentError(absl::StrFormat(
        "--flight %s: %d bytes are less than one packet for each of four "
        "streams: want %dK or more",
        base::EscapeName(line.flight), record.max_bytes,
        kLeastFlightBytes >> 10));
  }
  // Small against the whole, so that storing a record overwrites little more
  // than one record; and what is a little older than a time.
  if (!parser.is_given("--sub-buffer-size")) {
    record.sub_buffer_bytes =
        std::clamp<std::uint64_t>(record.max_bytes / 64, kLeastPacketBytes,
                                  record.flight_ns == 0 ? 1 << 20 : 256 << 10);
  }
  return absl::OkStatus();
}

// --max-cpu PER_CENT, of one CPU.
absl::Status SetMaxCpu(const VerbParser& parser, const RecordCommandLine& line,
                       RecordOptions& record) {
  if (!parser.is_given("--max-cpu")) return absl::OkStatus();
  constexpr double kLeast = 0.1, kMost = 100;
  std::string number = line.max_cpu;
  if (number.ends_with('%')) number.pop_back();
  double per_cent = 0;
  if (number == line.max_cpu || !absl::SimpleAtod(number, &per_cent) ||
      !(per_cent >= kLeast && per_cent <= kMost)) {
    return InvalidArgumentError(absl::StrFormat(
        "--max-cpu %s: not from %g%% to %g%% of one CPU: write it like 1%%, or "
        "leave it out to record all, whatever it costs",
        base::EscapeName(line.max_cpu), kLeast, kMost));
  }
  record.max_cpu = per_cent / 100;
  for (const char* const other : {"--no-kernel", "--offcpu"}) {
    if (!parser.is_given(other)) continue;
    return InvalidArgumentError(absl::StrFormat(
        "--max-cpu and %s contradict each other: leave out one; what is "
        "thinned are kernel records, and stacks off CPU cannot be",
        other));
  }
  if (line.backend == "perf") {
    return InvalidArgumentError(
        "--max-cpu measures and thins BPF programs: leave out --backend perf");
  }
  return absl::OkStatus();
}

absl::Status SetMode(const VerbParser& parser, const RecordCommandLine& line,
                     RecordOptions& record) {
  record.mode = line.mode == "discard" ? logformat::SessionMode::kDiscard
                                       : logformat::SessionMode::kStream;
  if (line.snapshot_bytes != 0) record.snapshot_bytes = line.snapshot_bytes;
  return line.flight.empty() ? absl::OkStatus()
                             : SetFlight(parser, line, record);
}

}  // namespace

absl::StatusOr<RecordOptions> MakeRecordRequest(
    const VerbParser& parser, const RecordCommandLine& given) {
  RecordCommandLine line = given;
  RecordOptions record = line.record;
  if (auto status = SetSplit(line, record); !status.ok()) return status;
  const auto rules = runtime::ParseUnboundDumpRules(record.dump_rules);
  if (!rules.ok()) return rules.status();
  const auto triggers = runtime::ParseTriggers(record.triggers);
  if (!triggers.ok()) return triggers.status();
  if (const auto samples = runtime::ParseSampleRequests(record.samples);
      !samples.ok()) {
    return samples.status();
  } else if (record.sample_data && !samples->empty()) {
    auto requests = *samples;
    if (const auto data = runtime::RequestData(requests); !data.ok()) {
      return data.status();
    }
  }
  if (parser.is_given("--signal-every")) {
    const auto signal = runtime::ParseSignalRequest(record.signal_every);
    if (!signal.ok()) return signal.status();
  }
  if (const auto stacks = runtime::ParseCallGraph(record.call_graph);
      !stacks.ok()) {
    return stacks.status();
  }
  if (auto status = SetPids(line, record); !status.ok()) return status;
  if (auto status = SetKernelRecords(line, record); !status.ok()) return status;
  if (auto status = SetRotation(line, record); !status.ok()) return status;
  if (const auto problem = ParseGatingOptions(line.count, line.marks,
                                              record.count, record.marks)) {
    return InvalidArgumentError(*problem);
  }
  if (auto status = CheckCombination(parser, line, record); !status.ok()) {
    return status;
  }

  if (auto status = SetMaxCpu(parser, line, record); !status.ok())
    return status;
  if (auto status = SetMode(parser, line, record); !status.ok()) return status;
  record.events = runtime::SplitEvents(line.events);
  record.hook_events = runtime::SplitEvents(line.hook_events);
  record.sub_buffers = static_cast<std::uint32_t>(line.sub_buffers);
  record.kernel = !line.no_kernel;
  record.backend = line.backend == "bpf"    ? runtime::KernelBackend::kBpf
                   : line.backend == "perf" ? runtime::KernelBackend::kPerf
                                            : runtime::KernelBackend::kAuto;
  record.fault_records = !line.no_fault_records;
  // Records with texts are some four times as long.
  const bool values =
      record.arguments ||
      std::any_of(record.dynamic_hooks.begin(), record.dynamic_hooks.end(),
                  [](const std::string& hook) { return hook.ends_with(')'); });
  if (values && !parser.is_given("--kernel-ring")) {
    record.kernel_ring_bytes *= kRingsOfArguments;
  }
  return record;
}

}  // namespace countrace::cli
