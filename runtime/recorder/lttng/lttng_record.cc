#include "runtime/recorder/lttng/lttng_record.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/lttng/lttng_directory.h"
#include "runtime/recorder/lttng/lttng_here.h"
#include "runtime/recorder/lttng/lttng_rules.h"
#include "runtime/recorder/lttng/private_daemon.h"
#include "runtime/recorder/session/command.h"
#include "runtime/recorder/session/stop_signals.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

constexpr char kSession[] = "countrace";
constexpr char kChannel[] = "hooks";
constexpr char kKernelChannel[] = "sched";

class LttngRecording {
 public:
  explicit LttngRecording(const LttngRecordOptions& options)
      : options_(options), signals_({SIGUSR1}) {}

  absl::StatusOr<LttngRecordResult> Record();

 private:
  absl::Status Check();
  absl::Status SetUp();
  absl::Status SetUpKernelDomain();
  absl::Status ForkCommand();
  void WaitForCommand();
  void TearDown();
  absl::Status Tell(const std::vector<std::string>& words) {
    return daemon_->Run(words).status();
  }

  const LttngRecordOptions& options_;
  StopSignals signals_;
  std::string filter_;
  std::vector<std::string> contexts_ = {"vpid", "vtid", "procname"};
  bool kernel_ = false;
  std::unique_ptr<PrivateLttngDaemon> daemon_;
  std::unique_ptr<Command> command_;
  LttngRecordResult result_;
};

absl::Status LttngRecording::Check() {
  const std::string& library = options_.provider_library;
  if (library.find_first_of(" :\t\n") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s cannot be preloaded: its path has a blank or a colon", library));
  }
  if (access(library.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrFormat("cannot read %s: %s", library, std::strerror(errno)));
  }
  auto filter = LttngFilter(options_.hook_filter);
  if (!filter.ok()) return filter.status();
  filter_ = *std::move(filter);
  for (const std::string& event : options_.events) {
    auto context = LttngContext(event);
    if (!context.ok()) return context.status();
    contexts_.push_back(*std::move(context));
  }
  if (options_.kernel) {
    const std::string why_not = WhyNoLttngKernelEvents();
    kernel_ = why_not.empty();
    if (!kernel_) {
      result_.messages.push_back("No kernel events: " + why_not);
    }
  }
  return absl::OkStatus();
}

absl::Status LttngRecording::SetUpKernelDomain() {
  absl::Status status = Tell({"enable-channel", "-k", kKernelChannel});
  std::string events;
  for (const std::string& event : LttngKernelEvents()) {
    events += (events.empty() ? "" : ",") + event;
  }
  if (status.ok()) {
    status = Tell({"enable-event", "-k", "-c", kKernelChannel, events});
  }
  return status;
}

absl::Status LttngRecording::SetUp() {
  auto daemon = PrivateLttngDaemon::Start(kernel_);
  if (!daemon.ok()) return daemon.status();
  daemon_ = *std::move(daemon);
  absl::Status status = Tell({"create", kSession, "--output=" + result_.path});
  if (!status.ok()) return status;
  status =
      Tell({"enable-channel", "-u", kChannel,
            absl::StrFormat("--subbuf-size=%d",
                            NextPowerOfTwo(options_.sub_buffer_bytes, 4096)),
            absl::StrFormat("--num-subbuf=%d",
                            NextPowerOfTwo(options_.sub_buffers, 2))});
  if (!status.ok()) return status;
  std::vector<std::string> events = {"enable-event", "-u", "-c", kChannel,
                                     "countrace:*"};
  if (!filter_.empty()) {
    events.push_back("--filter");
    events.push_back(filter_);
  }
  status = Tell(events);
  if (!status.ok()) return status;
  for (const std::string& context : contexts_) {
    status = Tell({"add-context", "-u", "-c", kChannel, "-t", context});
    if (!status.ok()) return status;
  }
  if (kernel_) {
    const absl::Status domain = SetUpKernelDomain();
    if (!domain.ok()) {
      result_.messages.push_back("No kernel events: " +
                                 base::StatusText(domain));
    }
  }
  return Tell({"start"});
}

absl::Status LttngRecording::ForkCommand() {
  std::vector<EnvironmentChange> environment = daemon_->ProgramEnvironment();
  std::string preload = options_.provider_library;
  // Without it a forked child that does not exec writes events as its parent.
  if (const std::string library = LttngForkLibrary(); !library.empty()) {
    preload += ":" + library;
  } else {
    result_.messages.push_back(
        "Forked children that do not exec appear as their parents: "
        "liblttng-ust-fork.so.1 is missing (Debian, Ubuntu: liblttng-ust1)");
  }
  if (const char* old = std::getenv("LD_PRELOAD");
      old != nullptr && *old != '\0') {
    preload += absl::StrFormat(":%s", old);
  }
  environment.push_back({"LD_PRELOAD", preload});
  // Longer than LTTng's 3 s: our daemon exists, even if the machine is slow,
  // and events before the program's registration would be missing.
  if (std::getenv("LTTNG_UST_REGISTER_TIMEOUT") == nullptr) {
    environment.push_back({"LTTNG_UST_REGISTER_TIMEOUT", "10000"});
  }
  auto command = Command::Fork(options_.command, environment, signals_);
  if (!command.ok()) return command.status();
  command_ = *std::move(command);
  return absl::OkStatus();
}

void LttngRecording::WaitForCommand() {
  constexpr std::uint64_t kPeriodNs = 100'000'000;
  const std::uint64_t begin = MonotonicNs();
  int signals_taken = 0;
  for (;;) {
    std::uint64_t wait = kPeriodNs;
    const std::uint64_t elapsed = MonotonicNs() - begin;
    if (options_.duration_ns != 0) {
      if (elapsed >= options_.duration_ns) return;
      wait = std::min(wait, options_.duration_ns - elapsed);
    }
    pollfd set[] = {{signals_.descriptor(), POLLIN, 0},
                    {command_->descriptor(), POLLIN, 0}};
    const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(wait)};
    ppoll(set, 2, &timeout, nullptr);
    // As in Recording::TakeSignals(): the first ends the command, the second
    // the recording.
    while (const std::optional<StopSignal> signal = signals_.Take()) {
      if (signal->number == SIGUSR1) continue;  // other modes take a snapshot
      if (++signals_taken > 1) return;
      if (signal->from_process) command_->Signal(signal->number);
    }
    if (const std::optional<int> status = command_->TryWait()) {
      result_.command_status = *status;
      return;
    }
  }
}

void LttngRecording::TearDown() {
  if (!daemon_->is_running()) {
    result_.messages.push_back(
        "lttng-sessiond ended during the recording: the trace holds what it "
        "had written by then");
    result_.loss.damaged = 1;
    daemon_.reset();
    return;
  }
  if (const absl::Status stopped = Tell({"stop"}); !stopped.ok()) {
    result_.messages.push_back("The trace may lack its last events: " +
                               base::StatusText(stopped));
    result_.loss.damaged = 1;
  }
  const auto list = daemon_->Run({"--mi", "xml", "list", kSession});
  if (list.ok()) {
    const LttngLosses losses = ParseLttngLosses(*list);
    result_.loss.AddDiscarded("lttng", losses.events);
    result_.loss.discarded_packets = losses.packets;
    if (losses.packets != 0) {
      result_.messages.push_back(absl::StrFormat(
          "LTTng lost %d packets with an unknown number of events",
          losses.packets));
    }
  } else {
    result_.messages.push_back("The number of lost events is unknown: " +
                               base::StatusText(list.status()));
    result_.loss.damaged = 1;
  }
  if (result_.loss.discarded_events != 0) {
    result_.messages.push_back(
        "Events were lost because LTTng's buffers were full: make them larger "
        "with --sub-buffer-size and --sub-buffers");
  }
  (void)Tell({"destroy", kSession});
  daemon_.reset();
}

absl::StatusOr<LttngRecordResult> LttngRecording::Record() {
  if (const absl::Status status = Check(); !status.ok()) return status;
  auto path = MakeLttngDirectory(options_.output, options_.force);
  if (!path.ok()) return path.status();
  result_.path = *std::move(path);
  absl::Status status = SetUp();
  if (status.ok()) status = ForkCommand();
  const std::uint64_t begin_ns = MonotonicNs();
  if (status.ok()) status = command_->Start();
  if (!status.ok()) {
    command_.reset();
    daemon_.reset();
    RemoveLttngDirectory(result_.path);
    return status;
  }
  WaitForCommand();
  result_.elapsed_ns = MonotonicNs() - begin_ns;
  TearDown();
  result_.bytes = BytesBelow(result_.path);
  if (result_.bytes == 0) {
    result_.messages.push_back(
        "The trace is empty: no program with countrace hooks registered with "
        "LTTng. Static and set-user-id programs cannot be preloaded: link "
        "countrace::lttng there");
  }
  return std::move(result_);
}

}  // namespace

absl::StatusOr<LttngRecordResult> RecordWithLttng(
    const LttngRecordOptions& options) {
  return LttngRecording(options).Record();
}

}  // namespace countrace::runtime
