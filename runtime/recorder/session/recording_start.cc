#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "logformat/description/recorded_part.h"
#include "logformat/loss.h"
#include "runtime/recorder/control/left_files.h"
#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/session/record_check.h"
#include "runtime/recorder/session/recorded_gating.h"
#include "runtime/recorder/session/recording.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

using logformat::SessionControl;
using logformat::SessionScope;

absl::Status Recording::Start(const ClockPair& clock) {
  const absl::Status status = StartOrFail(clock);
  if (!status.ok()) {
    if (kernel_ != nullptr) (void)kernel_->End();
    kernel_.reset();
    directory_.Remove();
  }
  return status;
}

absl::Status Recording::StartOrFail(const ClockPair& clock) {
  clock_ = clock;
  suspended_ns_ = SuspendedNs();
  RemoveLeftFiles();
  if (!options_.command.empty()) {
    const absl::Status forked = ForkCommand();
    if (!forked.ok()) return forked;
  }
  // After the fork: the command keeps its own priority.
  if (kernel_ != nullptr) priority_.emplace();
  if (absl::Status filled = FillSession(); !filled.ok()) return filled;
  if (IsRawClockUsable()) {
    const std::uint64_t elapsed = MonotonicNs() - clock.monotonic_ns;
    if (elapsed < kCalibrationNs) SleepNs(kCalibrationNs - elapsed);
    session_.control().raw_ns_mult = RawNsMult(clock, ReadClockPair());
  }
  begin_ns_ = MonotonicNs();
  session_.control().begin_ns = begin_ns_;
  BeginClocks();
  if (!triggers_.empty()) {
    watcher_.emplace(directory_.steady_path(), triggers_, begin_ns_,
                     [this](const std::string& text) { Notice(text); });
    for (const Trigger& trigger : triggers_) {
      if (!trigger.start) continue;
      NoteTriggers({{logformat::kNotReached, trigger.text,
                     "not reached: all of it is left out; `countrace list "
                     "hooks TRACE` names the hooks"}});
    }
    for (const std::string& text :
         TriggersOfMissingHooks(options_, triggers_)) {
      Notice(text);  // now: the recording may last for days
    }
  }
  // Before the kernel's streams, which it describes.
  absl::Status status = session_.Announce();
  if (!status.ok()) return status;
  BeginKernel(status);
  if (status.ok() && options_.max_cpu != 0 &&
      (kernel_ == nullptr || !kernel_->SpentNs())) {
    status = absl::FailedPreconditionError(
        "Cannot limit what recording costs (--max-cpu): the kernel does not "
        "measure its BPF programs for this process: run it as root (with "
        "CAP_SYS_ADMIN) and --backend bpf, or first as root: sysctl "
        "kernel.bpf_stats_enabled=1");
  }
  if (status.ok()) status = BeginOverflowSignals();
  if (!status.ok()) return status;
  status = session_.Publish();
  if (!status.ok()) return status;
  const bool invites =
      options_.user_hooks && (options_.system_wide || !options_.pids.empty());
  unjoined_.emplace(directory_.path(), invites);
  if (invites) InviteProcesses();
  if (options_.begun) options_.begun();
  WatchQuotas();
  if (command_ != nullptr) {
    command_begin_ns_ = MonotonicNs();
    status = command_->Start();
    if (!status.ok()) return status;
    result_.command_ran = true;
    program_ = ProgramFileOf(command_->pid(), options_.command.front());
  }
  BeginBudget();
  return absl::OkStatus();
}

absl::Status Recording::ForkCommand() {
  std::vector<EnvironmentChange> environment;
  // With processes the command only limits the duration.
  const bool recorded = options_.user_hooks && options_.pids.empty();
  if (recorded) {
    environment.push_back({logformat::kSessionEnvironment, directory_.path()});
  }
  const std::string& library = options_.runtime_library;
  if (recorded && !library.empty()) {
    // ld.so splits LD_PRELOAD at these characters. It reports libraries that it
    // cannot load on the command's stderr.
    if (library.find_first_of(" :\t\n") != std::string::npos) {
      AddNotRecorded({logformat::Unavailable(
          absl::StrFormat("User hooks are not recorded: the path of the "
                          "runtime library has a blank or a colon: %s",
                          library))});
    } else if (access(library.c_str(), R_OK) != 0) {
      AddNotRecorded({logformat::Unavailable(
          absl::StrFormat("User hooks are not recorded: cannot read %s: %s",
                          library, std::strerror(errno)))});
    } else {
      std::string preload = library;
      if (const char* old = std::getenv("LD_PRELOAD");
          old != nullptr && *old != '\0') {
        preload += absl::StrFormat(":%s", old);
      }
      environment.push_back({"LD_PRELOAD", preload});
      // The address sanitizer refuses to start behind another library. It need
      // not be the first: the runtime stands before longjmp and its relatives
      // only, and calls the next one, which is the sanitizer's.
      std::string sanitizer = "verify_asan_link_order=0";
      if (const char* old = std::getenv("ASAN_OPTIONS");
          old != nullptr && *old != '\0') {
        sanitizer = absl::StrFormat("%s:%s", old, sanitizer);
      }
      environment.push_back({"ASAN_OPTIONS", sanitizer});
      preloaded_ = true;
    }
  }
  auto command = Command::Fork(options_.command, environment, signals_);
  if (!command.ok()) return command.status();
  command_ = *std::move(command);
  return absl::OkStatus();
}

void Recording::BeginKernel(absl::Status& status) {
  if (kernel_ == nullptr) return;
  KernelRecorderTarget target;
  target.directory = directory_.path();
  const SessionControl& control = session_.control();
  std::copy(std::begin(control.uuid), std::end(control.uuid),
            target.uuid.begin());
  if (MarksRoots(options_)) target.root_pids = RootPids();
  if (command_ != nullptr) target.starting_pid = command_->pid();
  const absl::Status began = kernel_->Begin(target);
  if (began.ok()) {
    kernel_began_ = true;
    return;
  }
  status = RefuseKernelHooks(options_, began);
  if (!status.ok()) return;
  // Without the kernel's side, a recording of running processes is empty if
  // none of them has hooks. A command can still be recorded by its own hooks,
  // unless the disk is full.
  if ((NeedsKernel(options_) &&
       !SessionInvitation::AnyProcess(options_.pids)) ||
      absl::IsResourceExhausted(began)) {
    status = began;
    return;
  }
  result_.messages.push_back(KernelRecordsMissingMessage(began));
  kernel_.reset();
  session_.control().scope = SessionScope::kHooksOnly;
  session_.control().root_pid = 0;
}

// The command counts from its exec on: what comes before is the recorder's.
absl::Status Recording::BeginOverflowSignals() {
  if (options_.signal_every.empty()) return absl::OkStatus();
  const auto request = ParseSignalRequest(options_.signal_every);
  if (!request.ok()) return request.status();
  auto opened = OpenOverflowSignals(*request);
  if (!opened.ok()) return opened.status();
  overflow_signals_ = *std::move(opened);
  std::vector<std::int32_t> tids;
  for (const std::int32_t pid : RootPids()) {
    for (const ProcessThread& thread : ScanThreadsOf(pid)) {
      tids.push_back(thread.tid);
    }
  }
  return overflow_signals_->Begin(tids, /*from_exec=*/options_.pids.empty());
}

// Before the command starts, so that the others are recorded when its hooks
// run.
void Recording::InviteProcesses() {
  invitation_.emplace(directory_.path(), session_.control(), options_.pids);
  invitation_->InviteRunning();
}

}  // namespace countrace::runtime
