#include "runtime/recorder/session/record_check.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "logformat/loss.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/kernel/hooks/hook_spec.h"
#include "runtime/recorder/session/recorded_gating.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

using logformat::SessionControl;

namespace {

constexpr char kBestEffortHint[] =
    "; --best-effort records what can be had without";

// The kernel hooks that the user asked for, as options.
std::vector<std::string> WrittenKernelHooks(const RecordOptions& options) {
  std::vector<std::string> names;
  for (const std::string& word : options.kernel_segments) {
    names.push_back("--kernel " + word);
  }
  if (options.wakeups) names.emplace_back("--kernel wakeups");
  for (const std::string& spec : options.dynamic_hooks) {
    names.push_back("--hook " + spec);
  }
  return names;
}

}  // namespace

bool NeedsKernel(const RecordOptions& options) {
  return options.kernel && (options.system_wide || !options.pids.empty());
}

absl::Status RefuseKernelHooks(const RecordOptions& options,
                               const absl::Status& status) {
  std::string names = absl::StrJoin(WrittenKernelHooks(options), ", ");
  if (names.empty() || options.best_effort || status.ok()) {
    return absl::OkStatus();
  }
  // One that could not be attached has named itself.
  const auto denied = status.GetPayload(kHookDeniedPayload);
  if (denied) names = "these hooks";
  // Nor do all have the same remedy.
  const std::string remedy =
      !absl::IsPermissionDenied(status)
          ? "; `countrace doctor` lists what is missing"
      : denied && !denied->empty()
          ? std::string(*denied)
          : KernelRecordsRemedy(status, /*by_perf=*/false);
  return absl::Status(
      status.code(),
      absl::StrFormat("Cannot record %s: %s%s%s", names,
                      base::StatusText(status), remedy, kBestEffortHint));
}

std::vector<logformat::NotRecorded> LeftOutBy(
    const KernelRecorder* kernel, const RecordOptions& options,
    const std::vector<std::string>& events) {
  std::vector<logformat::NotRecorded> left_out;
  const auto add = [&left_out](const std::vector<std::string>& names,
                               const char* why) {
    if (names.empty()) return;
    left_out.push_back(
        logformat::Unavailable(absl::StrFormat("Not recorded: %s: %s",
                                               absl::StrJoin(names, ", "), why),
                               names.size()));
  };
  std::vector<std::string> missing;
  for (const std::string& name : events) {
    const auto has = [&name](const EventSpec& event) {
      return event.name == name;
    };
    if (kernel == nullptr || std::none_of(kernel->choice().events.begin(),
                                          kernel->choice().events.end(), has)) {
      missing.push_back("-e " + name);
    }
  }
  if (kernel == nullptr) {
    std::vector<std::string> names = WrittenKernelHooks(options);
    names.insert(names.end(), missing.begin(), missing.end());
    add(names, "without kernel records there are none");
    return left_out;
  }
  if (!kernel->records_hooks()) {
    add(WrittenKernelHooks(options),
        "kernel segments and dynamic hooks need the BPF back end (`countrace "
        "doctor` shows why it does not work here)");
  }
  add(missing, "this machine does not count them in this recording");
  return left_out;
}

std::string NamesOf(const std::vector<std::int32_t>& pids) {
  std::string names;
  for (const std::int32_t pid : pids) {
    const std::vector<ProcessThread> threads = ScanThreadsOf(pid);
    names += absl::StrFormat("%s%d (%s)", names.empty() ? "process " : ", ",
                             pid, threads.empty() ? "?" : threads[0].comm);
  }
  return names;
}

EventChoice KeepHookEvents(EventChoice choice,
                           std::vector<std::string>& messages,
                           std::vector<logformat::NotRecorded>& left_out) {
  std::vector<bool> keep(choice.events.size(), false);
  for (std::size_t i = 0; i < choice.events.size(); ++i) {
    EventSpec& event = choice.events[i];
    perf_event_attr attr = ToPerfAttr(event);
    attr.disabled = 1;
    if (base::ScopedFd(OpenPerfEvent(attr, 0, -1, -1)).is_open()) {
      keep[i] = true;
      continue;
    }
    const int error = errno;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    if ((error == EACCES || error == EPERM) &&
        base::ScopedFd(OpenPerfEvent(attr, 0, -1, -1)).is_open()) {
      event.exclude_kernel = true;
      messages.push_back(
          absl::StrFormat("%s at user hooks counts user mode only: %s",
                          event.name, ExplainOpenError(error)));
      keep[i] = true;
      continue;
    }
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat("%s is not counted at user hooks: %s", event.name,
                        ExplainOpenError(error))));
  }
  return Keep(choice, keep);
}

absl::Status CheckOptions(const RecordOptions& options) {
  if (options.command.empty() && !options.system_wide && options.pids.empty()) {
    return absl::InvalidArgumentError(
        "Nothing to record: give a command after --, -p for running processes, "
        "or -a for the whole system");
  }
  if (options.system_wide && !options.pids.empty()) {
    return absl::InvalidArgumentError(
        "The whole system (-a) includes the processes of -p already: give one "
        "of the two");
  }
  const bool hooks =
      !options.kernel_segments.empty() || !options.dynamic_hooks.empty();
  if ((hooks || options.wakeups) && !options.kernel) {
    return absl::InvalidArgumentError(
        "Kernel segments, wake-ups and dynamic hooks are kernel records: leave "
        "out the "
        "option that switches those off");
  }
  if ((hooks || options.wakeups) && options.backend == KernelBackend::kPerf) {
    return absl::InvalidArgumentError(
        "Kernel segments, wake-ups and dynamic hooks need the BPF back end: "
        "leave out "
        "--backend perf");
  }
  if (options.off_cpu_ns != 0 && options.backend == KernelBackend::kPerf) {
    return absl::InvalidArgumentError(
        "Stacks off CPU (--offcpu) need the BPF back end: leave out --backend "
        "perf");
  }
  if (const absl::Status status = CheckGating(options); !status.ok()) {
    return status;
  }
  for (const std::int32_t pid : options.pids) {
    if (!IsProcessAlive(pid)) {
      return absl::NotFoundError(
          absl::StrFormat("There is no process %d to record", pid));
    }
  }
  if (!options.command.empty() && options.command.front().empty()) {
    return absl::InvalidArgumentError("The command's name is empty");
  }
  if (!options.dump_rules.empty() && options.hook_events.empty() && !hooks) {
    return absl::InvalidArgumentError(
        "A dump rule (--dump) selects the hooks that carry counters: select "
        "the counters with --hook-events, for example --hook-events "
        "page-faults, or record kernel-side hooks with --kernel or --hook");
  }
  if (options.hook_filter.size() >= sizeof(SessionControl::hook_filter)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "The hook filter is too long: bytes=%d, at most %d",
        options.hook_filter.size(), sizeof(SessionControl::hook_filter) - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckRotation(const RecordOptions& options,
                           const EventChoice& events,
                           const EventChoice& hook_events) {
  if (options.rotate_instances && hook_events.set_sizes.empty()) {
    return absl::InvalidArgumentError(
        "Event sets can change with each instance of a segment only at user "
        "hooks: give several with --hook-events '{a,b},{c,d}', or give a "
        "rotation interval, for example --rotate 10ms");
  }
  if (!events.set_sizes.empty() && options.rotate_ns &&
      *options.rotate_ns < kLeastRotateNs) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Event sets cannot rotate every %d ns: at least %d ns, "
                        "as each rotation interrupts every CPU",
                        *options.rotate_ns, kLeastRotateNs));
  }
  return absl::OkStatus();
}

absl::Status CheckExecRuntime(const RecordOptions& options, bool defaults,
                              const EventChoice& events,
                              const EventChoice& hook_events) {
  const auto has = [](const EventChoice& choice) {
    return std::any_of(
        choice.events.begin(), choice.events.end(),
        [](const EventSpec& event) { return event.is_exec_runtime(); });
  };
  if (has(hook_events)) {
    return absl::InvalidArgumentError(
        "exec-runtime is counted at dispatches: give it with -e, not with "
        "--hook-events");
  }
  if (!defaults && has(events) && options.backend == KernelBackend::kPerf) {
    return absl::InvalidArgumentError(
        "exec-runtime is not available with --backend perf, whose rings do not "
        "have the scheduler's account: use --backend bpf");
  }
  return absl::OkStatus();
}

std::vector<std::string> TriggersOfMissingHooks(
    const RecordOptions& options, const std::vector<Trigger>& triggers) {
  constexpr struct {
    std::string_view provider, word;
  } kWords[] = {{"syscall", "syscalls"},
                {"irq", "irq"},
                {"softirq", "softirq"},
                {"fault", "faults"}};
  std::vector<std::string> messages;
  for (const Trigger& trigger : triggers) {
    for (const auto& known : kWords) {
      const auto& words = options.kernel_segments;
      if (!trigger.glob.starts_with(std::string(known.provider) + ":") ||
          std::find(words.begin(), words.end(), known.word) != words.end()) {
        continue;
      }
      messages.push_back(
          absl::StrFormat("Trigger \"%s\" needs the kernel's %s hooks: record "
                          "them with --kernel %s",
                          trigger.text, known.provider, known.word));
    }
  }
  return messages;
}

absl::StatusOr<KernelHookRequest> KernelHooks(
    const RecordOptions& options, std::vector<std::string>& messages,
    std::vector<logformat::NotRecorded>& left_out) {
  KernelHookRequest request;
  request.optional = options.best_effort;
  request.attaching = options.attaching;
  std::string denied;  // all of them, so that the user hears of them at once
  const auto needed = [&](const std::string& what, const absl::Status& status) {
    if (status.ok()) return false;
    if (!absl::IsPermissionDenied(status)) return true;
    const std::string text =
        absl::StrFormat("%s: %s", what, base::StatusText(status));
    if (request.optional) {
      left_out.push_back(logformat::Unavailable("Not recorded: " + text));
    } else {
      denied += (denied.empty() ? "" : "; ") + text;
    }
    return false;
  };
  for (const std::string& word : options.kernel_segments) {
    const absl::Status status = AddKernelSegments(word, request);
    if (needed("--kernel " + word, status)) return status;
  }
  if (options.arguments) {
    auto arguments = ReadSyscallArguments();
    if (needed("--args", arguments.status())) return arguments.status();
    if (arguments.ok()) request.arguments = *std::move(arguments);
  }
  for (const std::string& spec : options.dynamic_hooks) {
    const absl::Status status = AddDynamicHooks(spec, request);
    if (needed("--hook " + spec, status)) return status;
  }
  if (!denied.empty()) {
    return absl::PermissionDeniedError(
        absl::StrFormat("Cannot record %s%s", denied, kBestEffortHint));
  }
  for (std::string& note : request.notes) messages.push_back(std::move(note));
  request.notes.clear();
  std::move(request.left_out.begin(), request.left_out.end(),
            std::back_inserter(left_out));
  request.left_out.clear();
  return request;
}

}  // namespace countrace::runtime
