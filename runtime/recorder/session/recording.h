// The state of one recording and its life: Start, Run, Finish, one file each.
//
//   recording_start.cc    forks the command, starts the kernel side, invites
//                         processes
//   recording_session.cc  fills `.session` for instrumented processes
//   recording_loop.cc     signals, rings, until the end
//   recording_clocks.cc   samples of the machine's clocks
//   recording_budget.cc   what is left out so that recording costs less
//   recording_snapshot.cc snapshots, and the triggers' requests
//   recording_finish.cc   all processes leave, the trace is finished
//
// In: checked options and their parsed forms (record.cc). Out: the trace, a
// RecordResult. Thread: one, but for the signal handlers' pipe.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDING_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDING_H_

#include <poll.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/session_layout.h"
#include "logformat/write/packet_writer.h"
#include "runtime/recorder/control/session_invitation.h"
#include "runtime/recorder/control/unjoined_pipe.h"
#include "runtime/recorder/directory/disk_room.h"
#include "runtime/recorder/directory/flight_keeper.h"
#include "runtime/recorder/directory/session_file.h"
#include "runtime/recorder/directory/thread_ids_file.h"
#include "runtime/recorder/directory/trace_directory.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/kernel_recorder.h"
#include "runtime/recorder/request/record_options.h"
#include "runtime/recorder/samples/overflow_signals.h"
#include "runtime/recorder/session/command.h"
#include "runtime/recorder/session/cpu_budget.h"
#include "runtime/recorder/session/started_programs.h"
#include "runtime/recorder/session/stop_signals.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/thread_placement.h"
#include "runtime/recorder/triggers/trigger_watcher.h"
#include "runtime/rules/dump_rule_text.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

// One recording, from the parsed options to the finished trace.
class Recording {
 public:
  Recording(const RecordOptions& options, TraceDirectory directory,
            SessionFile session, std::unique_ptr<KernelRecorder> kernel,
            EventChoice hook_events, std::vector<DumpRule> dump_rules,
            std::vector<Trigger> triggers)
      : options_(options),
        directory_(std::move(directory)),
        session_(std::move(session)),
        kernel_(std::move(kernel)),
        hook_events_(std::move(hook_events)),
        dump_rules_(std::move(dump_rules)),
        triggers_(std::move(triggers)),
        signals_(SignalsOf(triggers_)),
        session_name_(directory_.path()) {
    result_.path = directory_.path();
  }

  void AddMessages(std::vector<std::string> messages) {
    for (std::string& message : messages) {
      result_.messages.push_back(std::move(message));
    }
  }
  // What the user named, and what cannot be recorded of it already.
  void AskFor(std::vector<std::string> events,
              std::vector<logformat::NotRecorded> left_out) {
    named_events_ = std::move(events);
    AddNotRecorded(std::move(left_out));
  }
  // Returns an error only if nothing was recorded; then the directory is
  // removed.
  absl::Status Start(const ClockPair& clock);
  void Run();
  RecordResult Finish();

 private:
  absl::Status StartOrFail(const ClockPair& clock);
  absl::Status ForkCommand();
  std::vector<std::int32_t> RootPids() const;
  absl::Status FillSession();
  void BeginClocks();
  void SampleClocks();
  void BeginKernel(absl::Status& status);
  absl::Status BeginOverflowSignals();
  void InviteProcesses();
  std::vector<pollfd> PollSet() const;
  // Interval at which the rings are read.
  std::uint64_t DrainNs() const;
  void TakeSignals();
  static std::vector<int> SignalsOf(const std::vector<Trigger>& triggers);
  void Drain();
  bool JoinedElsewhere();
  void LookAtPrograms();
  void ActOn(const DueTriggers& due);
  void NoteTriggers(const std::vector<logformat::TriggerFiring>& reasons);
  void NoteBounds(std::uint64_t dumped_ns);
  // Returns the time before the dumps; 0: there are none without kernel
  // records.
  std::uint64_t DumpForSnapshot();
  void AnswerDumpRequests();
  void TakeSnapshot(const std::vector<logformat::TriggerFiring>& reasons);
  bool MayTakeSnapshot();
  void DescribeSnapshots();
  void Notice(const std::string& text) const;
  void CloseKernel();
  bool WaitForProcesses();
  void WatchQuotas();
  // What stopped the recorded cgroups, where no record shows it.
  std::vector<std::string> UnseenQuotaStops() const;
  void AddNotRecorded(std::vector<logformat::NotRecorded> left_out);
  void FollowRename();
  // Those that live: of the session, that had joined, and marked ones.
  std::vector<std::int32_t> ProcessesOfCommand(
      const std::vector<std::int32_t>& attached) const;
  void NameProcessesThatGoOn(const std::vector<std::int32_t>& attached);
  void NoteMissedRecords();
  void StoreNotRecorded(
      const std::vector<logformat::NotRecorded>& not_recorded) const;
  CpuSpent Spent() const;
  void BeginBudget();
  // Requires: kernel_->SpentNs() has a value.
  void KeepBudget();
  // What was left out so far, for snapshots and if this process is killed.
  void StoreLeftOut() const;
  void DescribeBudget(const KernelRecorderStatistics& statistics);
  bool IsCovered(const ProgramStart& start,
                 const std::set<std::uint64_t>& joined) const;
  std::map<std::string, std::uint64_t> UnjoinedStarts() const;
  bool NameUnjoined();
  void DescribeHooks(const logformat::SessionControl& control);
  void CalibrateHooks(logformat::SessionControl& control);
  void DescribeDumpRules();
  void DescribeDiscards(std::uint32_t last_errno);

  const RecordOptions& options_;
  TraceDirectory directory_;
  SessionFile session_;
  std::unique_ptr<KernelRecorder> kernel_;
  std::unique_ptr<OverflowSignals> overflow_signals_;  // --signal-every
  EventChoice hook_events_;
  std::vector<DumpRule> dump_rules_;
  std::vector<Trigger> triggers_;
  StopSignals signals_;
  std::unique_ptr<Command> command_;
  std::optional<UnjoinedPipe> unjoined_;
  StartedPrograms started_;
  ThreadIdsFile thread_ids_{directory_.path()};  // without BPF
  std::uint32_t joined_seen_ = 0;
  std::optional<SessionInvitation> invitation_;  // with -a or -p
  std::optional<DiskReserve> reserve_;
  std::unique_ptr<logformat::PacketWriter> clocks_;
  std::uint64_t next_clock_ns_ = ~0ull;
  std::optional<FlightKeeper> flight_;
  std::optional<TriggerWatcher> watcher_;  // with triggers
  std::optional<PriorityGuard> priority_;
  CpuQuotas quotas_;
  std::optional<CpuBudget> budget_;  // with `max_cpu`
  bool budget_told_ = false;         // that it did not hold
  bool preloaded_ = false;
  std::string program_;  // the command's file, if known
  std::vector<std::string> named_events_;
  const std::string session_name_;  // the directory's first name
  bool kernel_began_ = false;
  bool stop_ = false;
  int signals_taken_ = 0;
  std::size_t triggers_noted_ = 0;
  std::uint64_t snapshot_bytes_ = 0;  // of those that were taken
  struct KeptSnapshot {
    std::string path;
    std::uint64_t taken_ns, bytes;
  };
  std::deque<KeptSnapshot> kept_;  // with `keep_ns`
  int last_snapshot_ = 0;          // the number in its name
  std::uint64_t snapshots_refused_ = 0;
  ClockPair clock_;  // before begin_ns_
  std::uint64_t suspended_ns_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t command_begin_ns_ = 0;
  std::vector<logformat::NotRecorded> not_recorded_;
  RecordResult result_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_RECORDING_H_
