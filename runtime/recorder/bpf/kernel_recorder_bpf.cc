#include "runtime/recorder/bpf/kernel_recorder_bpf.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/recorder/bpf/bpf_programs.h"
#include "runtime/recorder/bpf/kernel_ring_reader.h"
#include "runtime/recorder/bpf/run_time_sampler.h"
#include "runtime/recorder/capabilities.h"
#include "runtime/recorder/countable_events.h"
#include "runtime/recorder/cpu_list.h"
#include "runtime/recorder/cpu_streams.h"
#include "runtime/recorder/kernel_hooks/kernel_hook_registry.h"
#include "runtime/recorder/monotonic_clock.h"
#include "runtime/recorder/small_file.h"
#include "runtime/recorder/tracefs.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;

class BpfKernelRecorder final : public KernelRecorder {
 public:
  BpfKernelRecorder(const KernelRecorderOptions& options,
                    std::vector<EventSpec> events,
                    std::unique_ptr<BpfPrograms> programs,
                    const std::vector<std::uint32_t>& cpus,
                    std::unique_ptr<KernelHookRegistry> hooks,
                    std::vector<std::string> messages)
      : events_(std::move(events)),
        programs_(std::move(programs)),
        marks_(options.marks),
        streams_(options.gating, options.marks,
                 [this](std::int32_t pid) { return programs_->IsMarked(pid); }),
        hooks_(std::move(hooks)),
        run_time_(*programs_),
        messages_(std::move(messages)) {
    for (std::size_t slot = 0; slot < cpus.size(); ++slot) {
      streams_.Add(cpus[slot], programs_->present(slot));
    }
  }
  ~BpfKernelRecorder() override { (void)End(); }

  const std::vector<EventSpec>& events() const override { return events_; }
  absl::Status Begin(const KernelRecorderTarget& target) override;
  void Drain() override;
  absl::Status End() override;
  std::vector<int> WakeDescriptors() const override { return {}; }
  KernelRecorderStatistics statistics() const override;
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  absl::Status MarkProcesses(const std::vector<std::int32_t>& root_pids);
  void ReadRings();

  std::vector<EventSpec> events_;
  std::unique_ptr<BpfPrograms> programs_;
  ProcessMarks marks_;
  CpuStreams streams_;
  std::unique_ptr<KernelHookRegistry> hooks_;  // null: none are recorded
  RunTimeSampler run_time_;
  std::vector<KernelRingReader> readers_;  // beside streams_.all()
  std::vector<std::string> messages_;
  std::uint64_t lost_seen_ = 0;  // losses FindLostMembers() knows of
  bool began_ = false;
  bool ended_ = false;
};

absl::Status BpfKernelRecorder::Begin(const KernelRecorderTarget& target) {
  absl::Status status = streams_.Create(target);
  if (!status.ok()) return status;
  if (hooks_ != nullptr) {
    status = hooks_->Open(target.directory);
    if (!status.ok()) return status;
  }
  status = MarkProcesses(target.root_pids);
  if (!status.ok()) return status;
  for (std::size_t slot = 0; slot < streams_.all().size(); ++slot) {
    CpuStream& stream = streams_.all()[slot];
    readers_.emplace_back(programs_->control(slot), programs_->ring(slot),
                          programs_->ring_bytes(), events_.size(),
                          MonotonicNs(), hooks_.get());
    status = programs_->DumpCounters(stream.cpu, CountersReason::kBegin);
    if (!status.ok()) return status;
  }
  began_ = true;
  run_time_.Begin(MonotonicNs());
  const auto threads = streams_.ScanAtBegin(target.root_pids);
  ReadRings();
  streams_.StoreBegin();
  streams_.StoreThreads(threads);
  return absl::OkStatus();
}

absl::Status BpfKernelRecorder::MarkProcesses(
    const std::vector<std::int32_t>& root_pids) {
  for (const std::int32_t pid : root_pids) {
    const absl::Status status = programs_->Mark(pid);
    if (!status.ok()) return status;
  }
  if (marks_.empty()) return absl::OkStatus();
  // What is forked meanwhile inherits; who gets the name is marked there.
  for (const ProcessThread& thread : ScanThreads()) {
    if (thread.tid != thread.pid || !marks_.Matches(thread)) continue;
    const absl::Status status = programs_->Mark(thread.pid);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void BpfKernelRecorder::ReadRings() {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    readers_[i].Drain(streams_.all()[i].batch);
  }
}

void BpfKernelRecorder::Drain() {
  if (!began_ || ended_) return;
  // Taken before the rings are read: what is older is in them.
  const std::uint64_t horizon_ns = MonotonicNs();
  run_time_.Turn(horizon_ns);
  ReadRings();
  streams_.StoreUntil(horizon_ns);
  const std::uint64_t lost = statistics().ring_lost;
  if (std::exchange(lost_seen_, lost) != lost) {
    streams_.FindLostMembers();
  }
}

absl::Status BpfKernelRecorder::End() {
  if (!began_ || ended_) return absl::OkStatus();
  Drain();
  ended_ = true;
  absl::Status result;
  for (const CpuStream& stream : streams_.all()) {
    result.Update(programs_->DumpCounters(stream.cpu, CountersReason::kEnd));
  }
  run_time_.End(MonotonicNs());
  programs_->Detach();
  ReadRings();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    readers_[i].DrainLosses(streams_.all()[i].batch);
  }
  streams_.StoreUntil(std::numeric_limits<std::uint64_t>::max());
  result.Update(streams_.Close());
  const KernelRecorderStatistics now = statistics();
  if (now.malformed > 0) {
    messages_.push_back(absl::StrFormat(
        "A kernel ring held what is no record; its rest was left out: rings=%d",
        now.malformed));
  }
  if (const std::uint64_t missed = programs_->missed_runs(); missed > 0) {
    messages_.push_back(absl::StrFormat(
        "The kernel left out records because it was writing one on that CPU "
        "already; which, it does not tell: records=%d",
        missed));
  }
  if (const std::uint64_t refused = programs_->refused_marks(); refused > 0) {
    messages_.push_back(absl::StrFormat(
        "Kernel hooks of some processes were not recorded: there were more "
        "than 65,536 at a time: processes=%d",
        refused));
  }
  if (const auto refused = programs_->refused_rule_entries(); refused > 0) {
    messages_.push_back(absl::StrFormat(
        "Dump rules could not be asked at some kernel-side hooks, whose "
        "records carry no counters: no room for what they remember of a hook "
        "in a thread, at most 262,144 at a time: records=%d; rules for fewer "
        "hooks need less",
        refused));
  }
  if (const auto unknown = programs_->unknown_callers(); unknown > 0) {
    messages_.push_back(absl::StrFormat(
        "Dump rules with `from` did not hold at records whose caller could not "
        "be looked up because its process was changing its memory: records=%d",
        unknown));
  }
  streams_.DescribeClockErrors(messages_);
  return result;
}

KernelRecorderStatistics BpfKernelRecorder::statistics() const {
  KernelRecorderStatistics sum;
  sum.ring_bytes = programs_->ring_bytes();
  sum.own_bpf_ns = run_time_.estimated_ns();
  sum.own_bpf_sampled_ns = run_time_.sampled_ns();
  for (const KernelRingReader& reader : readers_) {
    sum.dispatches += reader.dispatches();
    sum.malformed += reader.malformed();
    sum.ring_lost += reader.lost() + reader.unnamed();
  }
  streams_.AddStatistics(sum);
  return sum;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenBpfKernelRecorder(
    const KernelRecorderOptions& options) {
  // libbpf would say that it may not, but not what it takes.
  if (const std::string missing = MissingBpfCapabilities(); !missing.empty()) {
    return absl::PermissionDeniedError(
        absl::StrFormat("Cannot load BPF programs without %s", missing));
  }
  const auto online = OnlineCpus();
  if (!online.ok()) return online.status();
  if (online->empty()) return absl::UnavailableError("No CPU is online");
  std::vector<std::string> messages;
  PerfCpuGroupOptions trial;  // of PMU events, beside which a switch must fit
  if (const auto tracefs = Tracefs::Open(); tracefs.ok()) {
    const auto id = tracefs->TracepointId("sched", "sched_switch");
    if (id.ok()) trial.switch_tracepoint = *id;
  }
  auto events = CountableEvents(options, *online, trial, messages);
  if (!events.ok()) return events.status();
  BpfProgramOptions programs;
  programs.cpus = *online;
  programs.events = *events;
  programs.fault_records = options.fault_records && CountsPageFaults(*events);
  programs.wakeups = options.wakeups;
  programs.hooks = options.hooks;
  programs.hook_rules = options.hook_rules;
  programs.gating = options.gating;
  programs.marks = options.marks;
  programs.follow_marks =
      !options.gating.every_process() || !options.marks.empty();
  programs.ring_bytes = options.ring_bytes;
  auto loaded = BpfPrograms::Load(programs, messages);
  if (!loaded.ok()) return loaded.status();
  // 2 MiB are 4 M dispatches a second: less than the default is no trouble.
  constexpr std::uint64_t kPlenty = 2 << 20;
  if ((*loaded)->ring_bytes() < std::min(options.ring_bytes, kPlenty)) {
    messages.push_back(absl::StrFormat(
        "Kernel rings are smaller than asked for: bytes=%d wanted=%d; this "
        "kernel gives no larger ones to BPF",
        (*loaded)->ring_bytes(), options.ring_bytes));
  }
  std::unique_ptr<KernelHookRegistry> hooks;
  if (options.hooks.any()) {
    hooks = std::make_unique<KernelHookRegistry>(options.hooks.dynamic);
  }
  return std::make_unique<BpfKernelRecorder>(
      options, *std::move(events), *std::move(loaded), *online,
      std::move(hooks), std::move(messages));
}

}  // namespace countrace::runtime
