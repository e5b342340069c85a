#include "runtime/recorder/record.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/trace_finish.h"
#include "logformat/trace_reader.h"
#include "logformat/trace_snapshot.h"
#include "runtime/recorder/capabilities.h"
#include "runtime/recorder/command.h"
#include "runtime/recorder/event_list.h"
#include "runtime/recorder/event_name.h"
#include "runtime/recorder/flight_keeper.h"
#include "runtime/recorder/kernel_backend.h"
#include "runtime/recorder/kernel_hooks/kernel_hook_rules.h"
#include "runtime/recorder/monotonic_clock.h"
#include "runtime/recorder/process_scan.h"
#include "runtime/recorder/record_check.h"
#include "runtime/recorder/record_messages.h"
#include "runtime/recorder/session_file.h"
#include "runtime/recorder/session_invitation.h"
#include "runtime/recorder/small_file.h"
#include "runtime/recorder/stop_signals.h"
#include "runtime/recorder/thread_placement.h"
#include "runtime/recorder/trace_directory.h"
#include "runtime/rules/dump_rule_text.h"
#include "runtime/rules/rule_remarks.h"

namespace countrace::runtime {
namespace {

using logformat::SessionControl;
using logformat::SessionScope;

constexpr std::uint64_t kMillisecond = 1'000'000;
// Rings are read this often; nobody is woken for a record.
constexpr std::uint64_t kDrainNs = 10 * kMillisecond;
constexpr std::uint64_t kFlightHeadroomBytes = 64 << 20;
constexpr std::uint64_t kProgressNs = 100 * kMillisecond;
// How long live processes get to leave the session at the end.
constexpr std::uint64_t kDetachNs = 1000 * kMillisecond;

const std::vector<std::string>& DefaultEvents() {
  static const std::vector<std::string> events = {
      "task-clock",       "cpu-clock", "page-faults",
      "context-switches", "cycles",    "instructions"};
  return events;
}
constexpr std::size_t kOptionalDefaultsFrom = 4;  // cycles, instructions

void SleepNs(std::uint64_t ns) {
  const timespec duration{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&duration, nullptr);
}

// One recording, from the parsed options to the finished trace.
class Recording {
 public:
  Recording(const RecordOptions& options, TraceDirectory directory,
            SessionFile session, std::unique_ptr<KernelRecorder> kernel,
            std::vector<EventSpec> hook_events,
            std::vector<DumpRule> dump_rules)
      : options_(options),
        directory_(std::move(directory)),
        session_(std::move(session)),
        kernel_(std::move(kernel)),
        hook_events_(std::move(hook_events)),
        dump_rules_(std::move(dump_rules)) {
    result_.path = directory_.path();
  }

  void AddMessages(std::vector<std::string> messages) {
    for (std::string& message : messages) {
      result_.messages.push_back(std::move(message));
    }
  }
  // Returns an error only if nothing was recorded; the directory is gone then.
  absl::Status Start(const ClockPair& clock);
  void Run();
  RecordResult Finish();

 private:
  absl::Status StartOrFail(const ClockPair& clock);
  absl::Status ForkCommand();
  std::vector<std::int32_t> RootPids() const;
  void FillSession();
  void BeginKernel(absl::Status& status);
  void InviteProcesses();
  std::vector<pollfd> PollSet() const;
  void TakeSignals();
  void TakeSnapshot();
  void CloseKernel();
  bool WaitForProcesses();
  void DescribeHooks(const SessionControl& control);
  void DescribeDumpRules();

  const RecordOptions& options_;
  TraceDirectory directory_;
  SessionFile session_;
  std::unique_ptr<KernelRecorder> kernel_;
  std::vector<EventSpec> hook_events_;
  std::vector<DumpRule> dump_rules_;
  StopSignals signals_;
  std::unique_ptr<Command> command_;
  std::optional<SessionInvitation> invitation_;  // with -a or -p
  std::optional<FlightKeeper> flight_;
  std::optional<PriorityGuard> priority_;
  bool preloaded_ = false;
  bool kernel_began_ = false;
  bool stop_ = false;
  int signals_taken_ = 0;
  std::uint64_t begin_ns_ = 0;
  RecordResult result_;
};

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
  if (!options_.command.empty()) {
    const absl::Status forked = ForkCommand();
    if (!forked.ok()) return forked;
  }
  // After the fork: the command keeps its own priority.
  if (kernel_ != nullptr) priority_.emplace();
  FillSession();
  if (IsRawClockUsable()) {
    const std::uint64_t elapsed = MonotonicNs() - clock.monotonic_ns;
    if (elapsed < kCalibrationNs) SleepNs(kCalibrationNs - elapsed);
    session_.control().raw_ns_mult = RawNsMult(clock, ReadClockPair());
  }
  begin_ns_ = MonotonicNs();
  session_.control().begin_ns = begin_ns_;
  absl::Status status;
  BeginKernel(status);
  if (!status.ok()) return status;
  status = session_.Publish();
  if (!status.ok()) return status;
  InviteProcesses();
  if (command_ != nullptr) {
    status = command_->Start();
    if (!status.ok()) return status;
    result_.command_ran = true;
  }
  return absl::OkStatus();
}

absl::Status Recording::ForkCommand() {
  std::vector<EnvironmentChange> environment;
  const bool recorded = options_.pids.empty();  // else it only says how long
  if (recorded) {
    environment.push_back({logformat::kSessionEnvironment, directory_.path()});
  }
  const std::string& library = options_.runtime_library;
  if (recorded && !library.empty()) {
    // ld.so splits LD_PRELOAD at these, and complains on the command's stderr
    // about what it cannot load.
    if (library.find_first_of(" :\t\n") != std::string::npos) {
      result_.messages.push_back(absl::StrFormat(
          "User hooks are not recorded: the path of the runtime library has a "
          "blank or a colon: %s",
          library));
    } else if (access(library.c_str(), R_OK) != 0) {
      result_.messages.push_back(
          absl::StrFormat("User hooks are not recorded: cannot read %s: %s",
                          library, std::strerror(errno)));
    } else {
      std::string preload = library;
      if (const char* old = std::getenv("LD_PRELOAD");
          old != nullptr && *old != '\0') {
        preload += absl::StrFormat(":%s", old);
      }
      environment.push_back({"LD_PRELOAD", preload});
      preloaded_ = true;
    }
  }
  auto command = Command::Fork(options_.command, environment, signals_);
  if (!command.ok()) return command.status();
  command_ = *std::move(command);
  return absl::OkStatus();
}

std::vector<std::int32_t> Recording::RootPids() const {
  if (!options_.pids.empty() || command_ == nullptr) return options_.pids;
  return {command_->pid()};
}

void Recording::FillSession() {
  SessionControl& control = session_.control();
  session_.Describe();
  control.mode = options_.mode;
  control.scope = kernel_ == nullptr     ? SessionScope::kHooksOnly
                  : options_.system_wide ? SessionScope::kSystem
                                         : SessionScope::kCommand;
  if (control.scope == SessionScope::kCommand) {
    control.root_pid = RootPids().front();
  }
  // Sub-buffers are packets: whole pages.
  const auto page = std::max(logformat::kPacketAlignBytes,
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  control.sub_buffer_bytes =
      std::max(page, (options_.sub_buffer_bytes + page - 1) / page * page);
  control.sub_buffers = std::max(2u, options_.sub_buffers);
  control.max_bytes = options_.max_bytes;
  if (options_.mode == logformat::SessionMode::kFlight) {
    // Room for what is written between two looks, and for what is prepared.
    control.max_bytes += std::max(options_.max_bytes, kFlightHeadroomBytes);
    flight_.emplace(directory_.path(), options_.max_bytes, control);
  }
  if (kernel_ != nullptr) {
    for (const EventSpec& event : kernel_->events()) {
      control.cpu_events[control.cpu_event_count++] = ToSessionEvent(event);
    }
  }
  for (const EventSpec& event : hook_events_) {
    control.thread_events[control.thread_event_count++] = ToSessionEvent(event);
  }
  std::copy(dump_rules_.begin(), dump_rules_.end(), control.dump_rules);
  control.dump_rule_count = static_cast<std::uint32_t>(dump_rules_.size());
  control.tick_ns = KernelTickNs();
  std::strncpy(control.hook_filter, options_.hook_filter.c_str(),
               sizeof(control.hook_filter) - 1);
  std::string command;
  for (const std::string& argument : options_.command) {
    command += command.empty() ? argument : " " + argument;
  }
  if (!options_.pids.empty()) command = NamesOf(options_.pids);
  std::strncpy(control.command, command.c_str(), sizeof(control.command) - 1);
}

void Recording::BeginKernel(absl::Status& status) {
  if (kernel_ == nullptr) return;
  KernelRecorderTarget target;
  target.directory = directory_.path();
  const SessionControl& control = session_.control();
  std::copy(std::begin(control.uuid), std::end(control.uuid),
            target.uuid.begin());
  if (control.scope == SessionScope::kCommand) target.root_pids = RootPids();
  const absl::Status began = kernel_->Begin(target);
  if (began.ok()) {
    kernel_began_ = true;
    return;
  }
  // Without the kernel's side a recording of running processes is nothing if
  // none of them has hooks; a command can still be recorded by its own, unless
  // the disk is the trouble.
  if ((NeedsKernel(options_) &&
       !SessionInvitation::AnyProcess(options_.pids)) ||
      absl::IsResourceExhausted(began)) {
    status = began;
    return;
  }
  result_.messages.push_back(KernelRecordsMissingMessage(StatusText(began)));
  kernel_.reset();
  session_.control().scope = SessionScope::kHooksOnly;
  session_.control().root_pid = 0;
}

// Before the command starts, so that its hooks find the others recorded.
void Recording::InviteProcesses() {
  if (!options_.system_wide && options_.pids.empty()) return;
  invitation_.emplace(directory_.path(), options_.pids);
  invitation_->InviteRunning();
}

std::vector<pollfd> Recording::PollSet() const {
  std::vector<pollfd> set;
  set.push_back({.fd = signals_.descriptor(), .events = POLLIN, .revents = 0});
  set.push_back({.fd = command_ != nullptr ? command_->descriptor() : -1,
                 .events = POLLIN,
                 .revents = 0});
  set.push_back({.fd = invitation_ ? invitation_->descriptor() : -1,
                 .events = POLLIN,
                 .revents = 0});
  if (kernel_ != nullptr) {
    for (const int fd : kernel_->WakeDescriptors()) {
      set.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
  }
  return set;
}

// Beside the trace, under the first free name TRACE.snapshot-N.
void Recording::TakeSnapshot() {
  for (int number = 1;; ++number) {
    const std::string path =
        absl::StrFormat("%s.snapshot-%d", directory_.path(), number);
    const auto taken = logformat::SnapshotTrace(directory_.path(), path);
    if (absl::IsAlreadyExists(taken.status())) continue;
    if (taken.ok()) {
      result_.snapshots.push_back(path);
    } else {
      result_.messages.push_back(
          absl::StrFormat("No snapshot: %s", StatusText(taken.status())));
    }
    return;
  }
}

void Recording::TakeSignals() {
  while (const std::optional<StopSignal> signal = signals_.Take()) {
    if (signal->number == SIGUSR1) {
      TakeSnapshot();
      continue;
    }
    ++signals_taken_;
    // Possible outcomes: no command: stop. First signal: the command ends by it
    // (the terminal sends it there too; else we pass it on) and we wait for it.
    // Second signal: stop now, the command goes on alone.
    if (command_ == nullptr || signals_taken_ > 1) {
      stop_ = true;
    } else if (signal->from_process) {
      command_->Signal(signal->number);
    }
  }
}

void Recording::Run() {
  std::vector<pollfd> set = PollSet();
  std::uint64_t next_drain = begin_ns_ + kDrainNs;
  std::uint64_t next_progress = begin_ns_ + kProgressNs;
  bool command_ended = false;
  while (!stop_ && !command_ended) {
    std::uint64_t now = MonotonicNs();
    // Without pidfds (Linux before 5.3) the command's end is looked for at each
    // turn, so turns must be short then.
    std::uint64_t wake = kernel_ != nullptr || flight_ || set[1].fd < 0
                             ? next_drain
                             : next_progress;
    if (options_.duration_ns != 0) {
      wake = std::min(wake, begin_ns_ + options_.duration_ns);
    }
    const std::uint64_t wait = wake > now ? wake - now : 0;
    const timespec timeout{.tv_sec = static_cast<time_t>(wait / 1'000'000'000),
                           .tv_nsec = static_cast<long>(wait % 1'000'000'000)};
    for (pollfd& entry : set) entry.revents = 0;
    ppoll(set.data(), set.size(), &timeout, nullptr);
    bool ring_half_full = false;
    for (std::size_t i = 3; i < set.size(); ++i) {
      ring_half_full |= (set[i].revents & POLLIN) != 0;
      // An event of a CPU that went offline would be "ready" for ever.
      if ((set[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
        set[i].fd = -1;
      }
    }
    TakeSignals();
    if (invitation_) invitation_->InviteNew();
    if (command_ != nullptr) {
      const std::optional<int> status = command_->TryWait();
      command_ended = status.has_value();
      if (status) result_.command_status = *status;
    }
    now = MonotonicNs();
    if (options_.duration_ns != 0 && now - begin_ns_ >= options_.duration_ns) {
      stop_ = true;
    }
    if (now >= next_drain && !options_.pids.empty() &&
        std::none_of(options_.pids.begin(), options_.pids.end(),
                     IsProcessAlive)) {
      stop_ = true;
    }
    if (ring_half_full || now >= next_drain) {
      if (kernel_ != nullptr) kernel_->Drain();
      if (flight_) flight_->Keep();
      next_drain = now + kDrainNs;
    }
    if (now >= next_progress) {
      if (options_.progress) {
        options_.progress(directory_.DiskBytes(), now - begin_ns_);
      }
      next_progress = now + kProgressNs;
    }
  }
}

void Recording::CloseKernel() {
  if (kernel_ == nullptr) return;
  const absl::Status status = kernel_->End();
  if (!status.ok()) {
    result_.messages.push_back(absl::StrFormat(
        "The kernel's last counters are incomplete: %s", StatusText(status)));
  }
  AddMessages(kernel_->messages());
  const KernelRecorderStatistics statistics = kernel_->statistics();
  SessionControl& control = session_.control();
  for (std::size_t i = 0; i < statistics.unplaced.size(); ++i) {
    control.discarded_by_cause[i].fetch_add(statistics.unplaced[i],
                                            std::memory_order_relaxed);
  }
  control.own_bpf_ns.store(statistics.own_bpf_ns, std::memory_order_relaxed);
  control.own_bpf_sampled_ns.store(statistics.own_bpf_sampled_ns,
                                   std::memory_order_relaxed);
  if (statistics.last_errno != 0) {
    control.last_errno.store(static_cast<std::uint32_t>(statistics.last_errno),
                             std::memory_order_relaxed);
  }
}

// False if a process may still write to its streams.
bool Recording::WaitForProcesses() {
  const std::uint64_t limit = MonotonicNs() + kDetachNs;
  for (;;) {
    const std::vector<std::int32_t> attached = session_.AttachedProcesses();
    if (attached.empty()) return true;
    if (MonotonicNs() >= limit) {
      result_.messages.push_back(absl::StrFormat(
          "Some processes did not leave the recording within 1 s (first pid "
          "%d, %d in all): their last records may be missing",
          attached.front(), attached.size()));
      return false;
    }
    SleepNs(kMillisecond);
  }
}

void Recording::DescribeHooks(const SessionControl& control) {
  result_.processes_joined =
      control.processes_joined.load(std::memory_order_relaxed);
  const bool expected =
      !options_.hook_events.empty() || !options_.hook_filter.empty();
  if (!expected || result_.processes_joined != 0) return;
  result_.messages.push_back(absl::StrFormat(
      "No process with user hooks took part: %s",
      invitation_ ? "none was running"
      : preloaded_
          ? "does the command use countrace/hooks.h? Static and "
            "set-user-id programs cannot be preloaded: link the runtime "
            "library there"
          : "the runtime library was not preloaded"));
}

void Recording::DescribeDumpRules() {
  const bool kernel_hooks =
      !options_.kernel_segments.empty() || !options_.dynamic_hooks.empty();
  if (dump_rules_.empty() || (result_.processes_joined == 0 && !kernel_hooks)) {
    return;
  }
  const auto trace = logformat::TraceReader::Open(directory_.path());
  if (!trace.ok()) return;  // Finish() has said why
  AddMessages(RuleRemarks(dump_rules_, (*trace)->info().hooks));
}

RecordResult Recording::Finish() {
  // Hooks first, so that all their records lie within the kernel's coverage.
  session_.Stop();
  CloseKernel();
  result_.elapsed_ns = MonotonicNs() - begin_ns_;
  const bool all_left = WaitForProcesses();
  if (command_ != nullptr && !command_->TryWait()) {
    result_.messages.push_back(absl::StrFormat(
        "The command still runs, unrecorded: pid=%d", command_->pid()));
  }
  const SessionControl& control = session_.control();
  if (invitation_) AddMessages(invitation_->TakeMessages());
  DescribeHooks(control);
  invitation_.reset();  // no other user may write here from now on

  LossFacts facts;
  facts.last_errno = control.last_errno.load(std::memory_order_relaxed);
  facts.sub_buffer_bytes = control.sub_buffer_bytes;
  facts.sub_buffers = control.sub_buffers;
  facts.max_bytes = control.max_bytes;
  facts.kernel_ring_bytes =
      kernel_ != nullptr ? kernel_->statistics().ring_bytes : 0;
  facts.path = directory_.path();

  if (flight_) {
    flight_->Keep();
    result_.overwritten = flight_->overwritten_records();
    facts.overwritten = result_.overwritten;
    facts.max_bytes = options_.max_bytes;
    AddMessages(flight_->Finish());
  }
  auto finished = logformat::FinishTrace(directory_.path(),
                                         {.processes_may_be_alive = !all_left},
                                         /*force_locked=*/true);
  if (finished.ok()) {
    result_.records = finished->records;
    result_.streams = finished->streams;
    facts.discarded = finished->discarded;
    AddMessages(std::move(finished->messages));
  } else {
    // The records are on disk; the reading verbs recover them in memory.
    if (kernel_ != nullptr) result_.records = kernel_->statistics().records;
    result_.messages.push_back(absl::StrFormat(
        "The trace is not finished: %s; when that is mended, `countrace "
        "recover %s` finishes it",
        StatusText(finished.status()), directory_.path()));
  }
  DescribeDumpRules();
  result_.bytes = directory_.DiskBytes();
  result_.discarded = std::accumulate(facts.discarded.begin(),
                                      facts.discarded.end(), std::uint64_t{0});
  AddMessages(DescribeLosses(facts));
  return std::move(result_);
}

}  // namespace

absl::StatusOr<RecordResult> Record(const RecordOptions& options) {
  const absl::Status checked = CheckOptions(options);
  if (!checked.ok()) return checked;
  const ClockPair clock = ReadClockPair();

  const bool defaults = options.events.empty();
  auto events = ParseEvents(defaults ? DefaultEvents() : options.events);
  if (!events.ok()) return events.status();
  auto hook_events = ParseEvents(options.hook_events);
  if (!hook_events.ok()) return hook_events.status();
  auto dump_rules = ParseDumpRules(options.dump_rules);
  if (!dump_rules.ok()) return dump_rules.status();
  std::vector<std::string> messages;
  std::vector<EventSpec> kept_hook_events =
      KeepHookEvents(*std::move(hook_events), messages);

  auto hooks = KernelHooks(options, messages);
  if (!hooks.ok()) return hooks.status();
  auto hook_rules = ResolveKernelHookRules(*dump_rules, *hooks, KernelTickNs());
  if (!hook_rules.ok()) return hook_rules.status();
  std::unique_ptr<KernelRecorder> kernel;
  if (options.kernel) {
    KernelRecorderOptions kernel_options;
    kernel_options.scope =
        options.system_wide ? SessionScope::kSystem : SessionScope::kCommand;
    kernel_options.events = *std::move(events);
    if (defaults) kernel_options.optional_events_from = kOptionalDefaultsFrom;
    kernel_options.fault_records = options.fault_records;
    kernel_options.wakeups = options.wakeups;
    kernel_options.hooks = *std::move(hooks);
    kernel_options.hook_rules = *std::move(hook_rules);
    kernel_options.ring_bytes = options.kernel_ring_bytes;
    auto opened = OpenKernelRecorder(options.backend, kernel_options, messages);
    if (opened.ok()) {
      kernel = *std::move(opened);
    } else if (NeedsKernel(options) &&
               !SessionInvitation::AnyProcess(options.pids)) {
      return absl::Status(
          opened.status().code(),
          KernelRecordsMissingMessage(StatusText(opened.status())));
    } else {
      messages.push_back(
          KernelRecordsMissingMessage(StatusText(opened.status())));
    }
  }

  auto directory = TraceDirectory::Create(options.output, options.force);
  if (!directory.ok()) return directory.status();
  auto session = SessionFile::Create(directory->path());
  if (!session.ok()) {
    directory->Remove();
    return session.status();
  }
  Recording recording(options, *std::move(directory), *std::move(session),
                      std::move(kernel), std::move(kept_hook_events),
                      *std::move(dump_rules));
  recording.AddMessages(std::move(messages));
  const absl::Status started = recording.Start(clock);
  if (!started.ok()) return started;
  recording.Run();
  return recording.Finish();
}

}  // namespace countrace::runtime
