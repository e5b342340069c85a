#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/file_output.h"
#include "logformat/description/trace_description.h"
#include "logformat/loss.h"
#include "logformat/read/trace_reader.h"
#include "logformat/repair/trace_finish.h"
#include "runtime/recorder/control/unjoined_program.h"
#include "runtime/recorder/session/hook_cost.h"
#include "runtime/recorder/session/record_check.h"
#include "runtime/recorder/session/recording.h"
#include "runtime/recorder/session/session_processes.h"
#include "runtime/recorder/system/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"
#include "runtime/rules/rule_remarks.h"

namespace countrace::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMillisecond = 1'000'000;
// Time that live processes have to leave the session at the end.
constexpr std::uint64_t kDetachNs = 1000 * kMillisecond;
constexpr std::size_t kMostNamed = 20;
// From exec to a program's first hook.
constexpr std::uint64_t kJoinNs = 1000 * kMillisecond;

// The recorder's clock from `begin` to now. The raw counter may have gone on,
// or begun anew, while the machine was suspended.
logformat::RecorderClock ClockSince(const ClockPair& begin, bool suspended) {
  const bool usable = !suspended && IsRawClockUsable();
  const auto reading = [usable](const ClockPair& pair) {
    return logformat::ClockReading{usable ? pair.raw : 0, pair.monotonic_ns};
  };
  return {reading(begin), reading(ReadClockPair())};
}

}  // namespace

using logformat::SessionControl;

void Recording::CloseKernel() {
  if (kernel_ == nullptr) return;
  const absl::Status status = kernel_->End();
  started_.Add(kernel_->TakePrograms());
  if (!status.ok()) {
    AddNotRecorded({logformat::Unavailable(
        absl::StrFormat("The kernel's last counters are incomplete: %s",
                        base::StatusText(status)))});
  }
  AddMessages(kernel_->messages());
  AddNotRecorded(kernel_->left_out());
  const KernelRecorderStatistics statistics = kernel_->statistics();
  if (statistics.lost_samples != 0) {
    not_recorded_.push_back({logformat::kLostSamples, statistics.lost_samples,
                             absl::StrFormat("Samples without room: samples=%d",
                                             statistics.lost_samples)});
  }
  DescribeBudget(statistics);
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

// The recorder's own files follow. Programs do not: those that have joined
// count what they could not store, and the others are not known.
void Recording::FollowRename() {
  const std::string before = directory_.path();
  if (!directory_.FollowRename()) return;
  result_.path = directory_.path();
  AddNotRecorded({logformat::Unavailable(
      absl::StrFormat("The trace was renamed while it was recorded, from %s "
                      "to %s, where it is finished: programs that started "
                      "since then, and new streams, did not find it",
                      before, directory_.path()))});
}

std::vector<std::int32_t> Recording::ProcessesOfCommand(
    const std::vector<std::int32_t>& attached) const {
  std::set<std::int32_t> pids = ProcessesOfSession(session_name_);
  pids.insert(attached.begin(), attached.end());
  // The kernel's numbers, which are ours in its first pid namespace alone.
  if (kernel_ != nullptr && options_.marks.empty() && IsHostPidNamespace()) {
    for (const std::int32_t pid : kernel_->MarkedProcesses()) pids.insert(pid);
  }
  std::erase_if(pids, [](std::int32_t pid) { return !IsProcessAlive(pid); });
  return {pids.begin(), pids.end()};
}

// A daemon, or a job in the background: the command's end is the recording's.
// `attached`: those with hooks that had joined.
void Recording::NameProcessesThatGoOn(
    const std::vector<std::int32_t>& attached) {
  const bool of_command = !options_.system_wide && options_.pids.empty();
  if (!of_command || !result_.command_usage) return;
  std::vector<std::int32_t> alive = ProcessesOfCommand(attached);
  if (alive.empty()) return;
  const std::size_t count = alive.size();
  alive.resize(std::min(count, kMostNamed));
  AddNotRecorded(
      {{logformat::kWentOn, count,
        absl::StrFormat(
            "Processes of the command go on after its end, and from then on "
            "are not recorded: %s%s; --wait-all, or -p, records them",
            NamesOf(alive),
            count > alive.size()
                ? absl::StrFormat(" and %d more", count - alive.size())
                : std::string())}});
}

void Recording::NoteMissedRecords() {
  if (kernel_ == nullptr) return;
  const std::uint64_t missed = kernel_->statistics().recursion_missed;
  if (missed == 0) return;
  AddNotRecorded(
      {{logformat::kKernelRecursion, missed,
        absl::StrFormat("%d kernel records discarded: the kernel was writing "
                        "another one on that CPU; their kind is unknown; fewer "
                        "--kernel records at a time have fewer",
                        missed)}});
}

// For the trace and for the user.
void Recording::AddNotRecorded(std::vector<logformat::NotRecorded> left_out) {
  for (logformat::NotRecorded& what : left_out) {
    result_.messages.push_back(what.text);
    not_recorded_.push_back(std::move(what));
  }
}

// For the trace's description. Without room for it, it is on stderr only.
void Recording::StoreNotRecorded(
    const std::vector<logformat::NotRecorded>& not_recorded) const {
  if (not_recorded.empty()) return;
  std::string lines;
  for (const logformat::NotRecorded& what :
       logformat::FitNotRecorded(not_recorded)) {
    lines += logformat::NotRecordedText(what) + "\n";
  }
  const std::string path =
      directory_.path() + "/" + logformat::kNotRecordedFile;
  // In place: a snapshot may be reading it.
  base::FileOutput out;
  if ((out.OpenExisting(path).ok() || out.Create(path).ok()) &&
      out.WriteAt(0, std::as_bytes(std::span(lines))).ok()) {
    (void)out.SetLength(lines.size());
  }
}

// False if a process may still write to streams in the trace's directory: those
// of other users are copied.
bool Recording::WaitForProcesses() {
  const std::uint64_t limit = MonotonicNs() + kDetachNs;
  for (;;) {
    std::vector<std::int32_t> attached = session_.AttachedProcesses();
    const bool own_left = attached.empty();
    if (invitation_) {
      const auto others = invitation_->users().AttachedProcesses();
      attached.insert(attached.end(), others.begin(), others.end());
    }
    if (attached.empty()) return true;
    if (MonotonicNs() >= limit) {
      result_.messages.push_back(absl::StrFormat(
          "Some processes did not leave the recording within 1 s (first pid "
          "%d, %d in all): their last records may be missing",
          attached.front(), attached.size()));
      return own_left;
    }
    SleepNs(kMillisecond);
  }
}

// Whether its process joined, or need not be named.
bool Recording::IsCovered(const ProgramStart& start,
                          const std::set<std::uint64_t>& joined) const {
  for (const std::uint64_t owner :
       {logformat::SlotOwner(start.pid, 0),
        logformat::SlotOwner(start.own_pid, start.pid_namespace),
        logformat::SlotOwner(start.own_pid, 0)}) {
    if (joined.contains(owner)) return true;
  }
  if (invitation_ && invitation_->Covers(start.pid)) return true;
  // It may not have come to its hooks yet.
  return start.time_ns + kJoinNs > begin_ns_ + result_.elapsed_ns &&
         IsProcessAlive(start.pid);
}

// By the program's file. Beyond kProcessSlots it is not known who joined.
std::map<std::string, std::uint64_t> Recording::UnjoinedStarts() const {
  if (!preloaded_ && !invitation_) return {};
  if (!options_.dynamic_hooks.empty()) return {};  // perhaps its probes
  std::vector<std::uint64_t> owners = session_.JoinedProcesses();
  if (owners.size() >= logformat::kProcessSlots) return {};
  if (invitation_) {
    const auto others = invitation_->users().JoinedProcesses();
    owners.insert(owners.end(), others.begin(), others.end());
  }
  const std::set<std::uint64_t> joined(owners.begin(), owners.end());
  return started_.NotJoined([this, &joined](const ProgramStart& start) {
    return IsCovered(start, joined);
  });
}

// True if there is one.
bool Recording::NameUnjoined() {
  std::map<std::string, std::uint64_t> reported;  // by the file's name
  std::uint64_t more = 0;
  std::vector<logformat::NotRecorded> programs;
  if (unjoined_) {
    for (UnjoinedPipe::Report& report : unjoined_->Take()) {
      reported[fs::path(report.program).filename()] += report.what.count;
      programs.push_back(std::move(report.what));
    }
    unjoined_.reset();
  }
  for (const auto& [file, processes] : UnjoinedStarts()) {
    const std::uint64_t by_itself = reported[fs::path(file).filename()];
    if (processes <= by_itself) continue;
    if (programs.size() >= kMostNamed) {
      more += processes - by_itself;
      continue;
    }
    std::string why = WhyNotJoined(file, preloaded_ && !invitation_);
    if (why.empty()) {  // of another mount namespace, or removed
      why = absl::StrFormat("%s has hooks but did not join", file);
    }
    programs.push_back(
        {logformat::kNotJoined, processes - by_itself, std::move(why)});
  }
  if (more != 0) {
    programs.push_back(
        {logformat::kNotJoined, more,
         absl::StrFormat("%d more processes with hooks did not join", more)});
  }
  const bool any = !programs.empty();
  AddNotRecorded(std::move(programs));
  return any;
}

void Recording::DescribeHooks(const SessionControl& control) {
  result_.processes_joined =
      control.processes_joined.load(std::memory_order_relaxed);
  if (invitation_) result_.processes_joined += invitation_->others_joined();
  const bool named = NameUnjoined();
  if (result_.processes_joined != 0 || named) return;
  if (preloaded_ && !program_.empty() && options_.dynamic_hooks.empty()) {
    if (std::string why = WhyNotJoined(program_, true); !why.empty()) {
      if (HasHooks(program_)) {
        not_recorded_.push_back({logformat::kNotJoined, 1, why});
      }
      result_.messages.push_back(std::move(why));
      return;
    }
  }
  if (options_.hook_events.empty() && options_.hook_filter.empty()) return;
  result_.messages.push_back(
      absl::StrFormat("No process with user hooks took part: %s",
                      invitation_  ? "none was running"
                      : preloaded_ ? "does the command use countrace/hooks.h?"
                                   : "the runtime library was not preloaded"));
}

// Measured at the end, when it perturbs no recorded process.
void Recording::CalibrateHooks(SessionControl& control) {
  if (result_.processes_joined == 0 || options_.runtime_library.empty()) return;
  const auto cost = MeasureHookCost(control, options_.runtime_library);
  if (!cost.ok()) {
    result_.messages.push_back(base::StatusText(cost.status()));
    return;
  }
  control.own_hook_cpu_ps.store(cost->cpu_ps, std::memory_order_relaxed);
  control.own_hook_ps.store(cost->record_ps, std::memory_order_relaxed);
  control.own_hook_dump_ps.store(cost->dump_record_ps,
                                 std::memory_order_relaxed);
}

void Recording::DescribeDumpRules() {
  const bool kernel_hooks =
      !options_.kernel_segments.empty() || !options_.dynamic_hooks.empty();
  if (dump_rules_.empty() || (result_.processes_joined == 0 && !kernel_hooks)) {
    return;
  }
  const auto trace = logformat::TraceReader::Open(directory_.path());
  if (!trace.ok()) return;  // Finish() has reported why
  AddMessages(RuleRemarks(dump_rules_, (*trace)->info().hooks));
}

void Recording::DescribeDiscards(std::uint32_t last_errno) {
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    const auto cause =
        result_.loss.by_cause.find(logformat::kDiscardCauseNames[i]);
    if (cause == result_.loss.by_cause.end()) continue;
    result_.messages.push_back(absl::StrFormat(
        "Discarded events: cause=%s count=%d: %s", cause->first, cause->second,
        logformat::LossRemedy(static_cast<logformat::DiscardCause>(i),
                              last_errno)));
  }
}

RecordResult Recording::Finish() {
  result_.quota_stops = quotas_.Stops();
  const std::vector<std::int32_t> attached = session_.AttachedProcesses();
  FollowRename();
  // Hooks first, so that all their records lie within the kernel's coverage.
  session_.Stop();
  if (invitation_) invitation_->users().Stop();
  // Probes may take seconds to detach.
  result_.elapsed_ns = MonotonicNs() - begin_ns_;
  NameProcessesThatGoOn(attached);
  CloseKernel();
  if (overflow_signals_ != nullptr) {
    overflow_signals_->End();
    result_.messages.push_back(overflow_signals_->Describe());
  }
  const bool all_left = WaitForProcesses();
  if (command_ != nullptr && !command_->TryWait()) {
    result_.messages.push_back(absl::StrFormat(
        "The command still runs, unrecorded: pid=%d", command_->pid()));
  }
  SessionControl& control = session_.control();
  NoteMissedRecords();
  AddNotRecorded(LeftOutBy(kernel_.get(), options_, named_events_));
  if (invitation_) {
    invitation_->GiveUp();
    for (logformat::NotRecorded& what : invitation_->NotJoined()) {
      not_recorded_.push_back(std::move(what));
    }
    AddMessages(invitation_->TakeMessages());
  }
  DescribeHooks(control);
  reserve_.reset();
  // Now there is room for the last sample, too.
  SampleClocks();
  clocks_.reset();
  DescribeSnapshots();
  StoreNotRecorded(not_recorded_);
  CalibrateHooks(control);
  invitation_.reset();  // from now on no other user may write here

  if (flight_) {
    flight_->Keep(begin_ns_ + result_.elapsed_ns);
    result_.loss.overwritten = flight_->overwritten_records();
    AddMessages(flight_->Finish());
  }
  auto finished = logformat::FinishTrace(
      directory_.path(),
      {.processes_may_be_alive = !all_left,
       .not_known = UnseenQuotaStops(),
       .now_ns = MonotonicNs(),
       .clock =
           ClockSince(clock_, SuspendedNs() > suspended_ns_ + kMillisecond)},
      /*force_locked=*/true);
  if (finished.ok()) {
    result_.records = finished->records;
    result_.streams = finished->streams;
    result_.loss.AddDiscarded(finished->discarded);
    result_.failed = finished->failed != 0;
    result_.loss.discarded_packets = finished->dropped_packets;
    AddMessages(std::move(finished->messages));
    not_recorded_.insert(not_recorded_.end(), finished->found.begin(),
                         finished->found.end());
  } else {
    // The records are on disk; the reading verbs recover them in memory.
    if (kernel_ != nullptr) result_.records = kernel_->statistics().records;
    result_.failed = true;
    result_.messages.push_back(absl::StrFormat(
        "The trace is not finished: %s; when that is fixed, `countrace recover "
        "%s` finishes it",
        base::StatusText(finished.status()), directory_.path()));
  }
  DescribeDumpRules();
  if (watcher_) AddMessages(watcher_->Describe());
  result_.bytes = directory_.DiskBytes();
  result_.loss.damaged = result_.failed ? 1 : 0;
  DescribeDiscards(control.last_errno.load(std::memory_order_relaxed));
  for (const auto& what : not_recorded_) result_.loss.Add(what);
  return std::move(result_);
}

}  // namespace countrace::runtime
