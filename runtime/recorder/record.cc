#include "runtime/recorder/record.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/control/session_invitation.h"
#include "runtime/recorder/directory/session_file.h"
#include "runtime/recorder/directory/trace_directory.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/gated_events.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_names.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"
#include "runtime/recorder/kernel/own/own_processes_recorder.h"
#include "runtime/recorder/request/sample_request.h"
#include "runtime/recorder/samples/sampling_events.h"
#include "runtime/recorder/session/kernel_backend.h"
#include "runtime/recorder/session/record_check.h"
#include "runtime/recorder/session/recorded_gating.h"
#include "runtime/recorder/session/recording.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/rules/dump_rule_text.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {
namespace {

const std::vector<std::string>& DefaultEvents() {
  static const std::vector<std::string> events = {
      "task-clock",       "exec-runtime", "page-faults",
      "context-switches", "cycles",       "instructions"};
  return events;
}
constexpr std::size_t kOptionalDefaultsFrom = 4;  // cycles, instructions

// Null: there is none, and `messages` say why.
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenKernel(
    const RecordOptions& options, const KernelRecorderOptions& kernel_options,
    std::vector<std::string>& messages) {
  auto opened = OpenKernelRecorder(options.backend, kernel_options, messages);
  if (opened.ok()) return opened;
  if (const absl::Status refused = RefuseKernelHooks(options, opened.status());
      !refused.ok()) {
    return refused;
  }
  if (options.off_cpu_ns != 0) {
    return absl::Status(
        opened.status().code(),
        absl::StrFormat("Cannot record stacks off CPU (--offcpu): %s",
                        base::StatusText(opened.status())));
  }
  if (!options.samples.empty() && !options.system_wide) {
    auto own = OpenOwnProcessesRecorder(kernel_options);
    if (own.ok()) {
      messages.push_back(absl::StrFormat(
          "Samples and hooks only, without dispatches and counts: %s",
          base::StatusText(opened.status())));
    }
    return own;
  }
  const std::string missing = KernelRecordsMissingMessage(opened.status());
  if (NeedsKernel(options) && !SessionInvitation::AnyProcess(options.pids)) {
    return absl::Status(opened.status().code(), missing);
  }
  messages.push_back(missing);
  return nullptr;
}

// What the options ask for, parsed.
struct Requests {
  bool defaults;  // no event was chosen
  KernelRecorderOptions kernel;
  EventChoice hook_events;
  std::vector<DumpRule> dump_rules;
  std::vector<Trigger> triggers;
  std::uint32_t stack_bytes;
  std::vector<std::string> messages, named_events;
  std::vector<logformat::NotRecorded> left_out;
};

absl::Status ParseChoices(const RecordOptions& options, Requests& requests) {
  requests.defaults = options.events.empty();
  auto events =
      ParseEventChoice(requests.defaults ? DefaultEvents() : options.events,
                       /*running_slot=*/true);
  if (!events.ok()) return events.status();
  auto hook_events =
      ParseEventChoice(options.hook_events, /*running_slot=*/false);
  if (!hook_events.ok()) return hook_events.status();
  absl::Status possible = CheckRotation(options, *events, *hook_events);
  if (possible.ok()) {
    possible =
        CheckExecRuntime(options, requests.defaults, *events, *hook_events);
  }
  if (!possible.ok()) return possible;
  requests.kernel.choice = *std::move(events);
  requests.hook_events = *std::move(hook_events);
  auto dump_rules = ParseUnboundDumpRules(options.dump_rules);
  if (!dump_rules.ok()) return dump_rules.status();
  requests.dump_rules = *std::move(dump_rules);
  auto triggers = ParseTriggers(options.triggers);
  if (!triggers.ok()) return triggers.status();
  requests.triggers = *std::move(triggers);
  return absl::OkStatus();
}

absl::Status ParseSamples(const RecordOptions& options, Requests& requests) {
  auto samples = ParseSampleRequests(options.samples);
  if (!samples.ok()) return samples.status();
  const auto stack_bytes = ParseCallGraph(options.call_graph);
  if (!stack_bytes.ok()) return stack_bytes.status();
  requests.stack_bytes = *stack_bytes;
  for (SampleRequest& request : *samples) request.stack_bytes = *stack_bytes;
  if (options.sample_data) {
    const auto without = RequestData(*samples);
    if (!without.ok()) return without.status();
    for (const std::string& event : *without) {
      requests.messages.push_back(absl::StrFormat(
          "The kernel gives no data address with %s: its samples have none",
          event));
    }
  }
  const std::uint64_t most_hz = MostSamplesPerSecond();
  for (const SampleRequest& request : *samples) {
    absl::Status possible = CheckSampleRate(request, most_hz);
    possible.Update(TrySampling(request));
    if (!possible.ok()) return possible;
  }
  requests.kernel.samples = *std::move(samples);
  return absl::OkStatus();
}

// Restricts events and samples to the modes that are counted.
absl::Status Gate(const RecordOptions& options, Requests& requests) {
  const logformat::Gating gating = GatingOf(options);
  for (SampleRequest& request : requests.kernel.samples) {
    request.event.exclude_user |= !gating.user;
    request.event.exclude_kernel |= !gating.kernel;
  }
  requests.kernel.optional_events_from =
      requests.defaults ? kOptionalDefaultsFrom : logformat::kMaxEvents;
  EventChoice& choice = requests.kernel.choice;
  absl::Status gated = GateEvents(gating, !requests.defaults, choice.events,
                                  requests.kernel.optional_events_from);
  std::size_t none_optional = logformat::kMaxEvents;
  gated.Update(
      GateEvents(gating, true, requests.hook_events.events, none_optional));
  if (!gated.ok()) return gated;
  if (gating.nothing()) choice.set_sizes.clear();
  return absl::OkStatus();
}

// What is left to be known of the kernel's side: marks and hooks.
absl::Status ResolveKernelRequests(const RecordOptions& options,
                                   Requests& requests) {
  auto marks = ProcessMarks::Resolve(options.marks);
  if (!marks.ok()) return marks.status();
  requests.hook_events = KeepHookEvents(std::move(requests.hook_events),
                                        requests.messages, requests.left_out);
  KernelRecorderOptions& kernel = requests.kernel;
  if (!requests.defaults && options.kernel) {
    for (const EventSpec& event : kernel.choice.events) {
      requests.named_events.push_back(event.name);
    }
  }
  auto hooks = KernelHooks(options, requests.messages, requests.left_out);
  if (!hooks.ok()) return hooks.status();
  ArgumentNames names(*hooks);
  auto rules = ParseDumpRules(
      options.dump_rules, [&](std::string_view glob, std::string_view name) {
        return names.Find(glob, name);
      });
  if (!rules.ok()) return rules.status();
  requests.dump_rules = *std::move(rules);
  auto hook_rules =
      ResolveKernelHookRules(requests.dump_rules, *hooks, KernelTickNs());
  if (!hook_rules.ok()) return hook_rules.status();
  kernel.gating = KeptBy(options);
  kernel.marks = *std::move(marks);
  kernel.rotate_ns = options.rotate_ns;
  // A record of each fault could not be left out: tables need all or none.
  kernel.fault_records = options.fault_records && options.max_cpu == 0;
  kernel.measures_itself = options.max_cpu != 0;
  kernel.wakeups = options.wakeups;
  kernel.hooks = *std::move(hooks);
  kernel.hook_rules = *std::move(hook_rules);
  kernel.off_cpu = {options.off_cpu_ns, options.waker_stacks,
                    requests.stack_bytes};
  kernel.ring_bytes = options.kernel_ring_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordResult> Record(const RecordOptions& options) {
  const absl::Status checked = CheckOptions(options);
  if (!checked.ok()) return checked;
  const ClockPair clock = ReadClockPair();

  Requests requests{};
  absl::Status possible = ParseChoices(options, requests);
  if (possible.ok()) possible = ParseSamples(options, requests);
  if (possible.ok()) possible = Gate(options, requests);
  if (possible.ok()) possible = ResolveKernelRequests(options, requests);
  if (!possible.ok()) return possible;
  // Before the programs of the kernel are loaded, which may take half a second:
  // if this process is killed meanwhile, there is a trace. An old one stays
  // until nothing can fail any more.
  std::optional<TraceDirectory> directory;
  if (!options.force || access(options.output.c_str(), F_OK) != 0) {
    auto created = TraceDirectory::Create(options.output, options.force);
    if (!created.ok()) return created.status();
    directory = *std::move(created);
  }
  std::unique_ptr<KernelRecorder> kernel;
  if (options.kernel) {
    auto opened = OpenKernel(options, requests.kernel, requests.messages);
    if (!opened.ok()) {
      if (directory) directory->Remove();
      return opened.status();
    }
    kernel = *std::move(opened);
  }

  if (!directory) {
    auto created = TraceDirectory::Create(options.output, options.force);
    if (!created.ok()) return created.status();
    directory = *std::move(created);
  }
  auto session = SessionFile::Create(directory->path());
  if (!session.ok()) {
    directory->Remove();
    return session.status();
  }
  Recording recording(options, *std::move(directory), *std::move(session),
                      std::move(kernel), std::move(requests.hook_events),
                      std::move(requests.dump_rules),
                      std::move(requests.triggers));
  recording.AddMessages(std::move(requests.messages));
  recording.AskFor(std::move(requests.named_events),
                   std::move(requests.left_out));
  const absl::Status started = recording.Start(clock);
  if (!started.ok()) return started;
  recording.Run();
  return recording.Finish();
}

}  // namespace countrace::runtime
