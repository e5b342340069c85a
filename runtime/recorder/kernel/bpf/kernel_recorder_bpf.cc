// More than 400 lines: one class, the kernel recorder by BPF, and its opening.
#include "runtime/recorder/kernel/bpf/kernel_recorder_bpf.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/errno_status.h"
#include "logformat/loss.h"
#include "runtime/recorder/directory/thread_ids_file.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"
#include "runtime/recorder/kernel/bpf/load/set_rotation.h"
#include "runtime/recorder/kernel/bpf/prices/probe_calibration.h"
#include "runtime/recorder/kernel/bpf/read/kernel_ring_reader.h"
#include "runtime/recorder/kernel/bpf/read/off_cpu_reader.h"
#include "runtime/recorder/kernel/bpf/read/run_time_sampler.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/perf/countable_events.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/process_capability.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;

// The longest interval between calls of Drain(). By then a CPU writes 4 MiB of
// dispatches, page faults and forks at most; samples wake the recorder when
// their ring is half full.
constexpr std::uint64_t kLongestDrainNs = 8 * KernelRecorder::kDrainNs;
constexpr std::uint64_t kRingOfLongest = 8 << 20;

class BpfKernelRecorder final : public KernelRecorder {
 public:
  BpfKernelRecorder(const KernelRecorderOptions& options, EventChoice choice,
                    RotationSchedule schedule,
                    std::unique_ptr<BpfPrograms> programs,
                    const std::vector<std::uint32_t>& cpus,
                    std::unique_ptr<KernelHookRegistry> hooks,
                    std::unique_ptr<SampleRecorder> samples,
                    std::unique_ptr<OffCpuReader> off_cpu,
                    std::vector<std::string> messages,
                    std::vector<logformat::NotRecorded> left_out)
      : choice_(std::move(choice)),
        programs_(std::move(programs)),
        rotation_(std::move(schedule), *programs_, cpus),
        marks_(options.marks),
        streams_(options.gating, options.marks,
                 [this](std::int32_t pid) { return programs_->IsMarked(pid); }),
        hooks_(std::move(hooks)),
        off_cpu_(std::move(off_cpu)),
        run_time_(*programs_, options.measures_itself),
        may_wait_(!options.hooks.any() && !options.off_cpu.any() &&
                  !rotation_.rotates() &&
                  programs_->ring_bytes() >= kRingOfLongest),
        has_calls_(options.hooks.syscalls || options.hooks.faults),
        messages_(std::move(messages)) {
    left_out_ = std::move(left_out);
    for (std::size_t slot = 0; slot < cpus.size(); ++slot) {
      streams_.Add(cpus[slot], programs_->counters().present(slot));
    }
    streams_.SetSamples(std::move(samples));
  }
  ~BpfKernelRecorder() override { (void)End(); }

  const EventChoice& choice() const override { return choice_; }
  absl::Status Begin(const KernelRecorderTarget& target) override;
  void Drain() override;
  absl::Status DumpForSnapshot() override;
  absl::Status End() override;
  std::vector<ProgramStart> TakePrograms() override {
    return std::exchange(program_starts_, {});
  }
  bool reports_programs() const override { return true; }
  bool records_hooks() const override { return true; }
  std::vector<std::int32_t> MarkedProcesses() const override {
    return programs_->MarkedProcesses();
  }
  std::uint64_t drain_ns() const override { return drain_ns_; }
  std::vector<int> WakeDescriptors() const override;
  KernelRecorderStatistics statistics() const override;
  const std::vector<std::string>& messages() const override {
    return messages_;
  }
  std::optional<std::uint64_t> SpentNs() const override {
    if (!run_time_.measures()) return std::nullopt;
    return programs_->whole_run_time_ns();
  }
  absl::Status Thin(Thinning thinning) override;

 private:
  absl::Status MarkProcesses(const std::vector<std::int32_t>& root_pids);
  void ReadRings();
  std::uint64_t StoreRead();
  absl::Status EndOffCpu();
  absl::Status MarkCalls();
  std::uint64_t RingLost() const;
  void ReadAndChooseInterval();
  std::size_t DumpWords() const {
    const logformat::EventSets sets = choice_.sets(/*running_slot=*/true);
    return sets.slots() + (sets.rotates() ? 1 : 0);
  }

  void DescribeRefusals();
  void DescribeTexts();
  void DescribeLosses();

  EventChoice choice_;
  std::unique_ptr<BpfPrograms> programs_;
  SetRotation rotation_;
  ProcessMarks marks_;
  CpuStreams streams_;
  std::unique_ptr<KernelHookRegistry> hooks_;  // null: none are recorded
  std::unique_ptr<OffCpuReader> off_cpu_;      // null: no stacks off CPU
  RunTimeSampler run_time_;
  const bool may_wait_;  // longer than kDrainNs, while little happens
  std::uint64_t drain_ns_ = kDrainNs, drained_ns_ = 0;
  std::uint64_t recursion_missed_ = 0;  // known at the end
  const bool has_calls_;                // as segments
  bool calls_left_out_ = false;
  std::uint64_t calls_marked_ns_ = 0;      // 0: they were never left out
  std::vector<KernelRingReader> readers_;  // beside streams_.all()
  std::optional<ThreadIdsFile> thread_ids_;
  std::vector<ProgramStart> program_starts_;
  std::vector<std::string> messages_;
  std::uint64_t lost_seen_ = 0;  // losses that FindLostMembers() has handled
  bool began_ = false;
  bool ended_ = false;
};

absl::Status BpfKernelRecorder::Begin(const KernelRecorderTarget& target) {
  absl::Status status = streams_.Create(target);
  if (!status.ok()) return status;
  thread_ids_.emplace(target.directory);
  if (hooks_ != nullptr) {
    status = hooks_->Open(target.directory);
    if (!status.ok()) return status;
  }
  status = MarkProcesses(target.root_pids);
  if (!status.ok()) return status;
  programs_->SetStarting(target.starting_pid);
  status = rotation_.Begin();
  if (!status.ok()) return status;
  for (std::size_t slot = 0; slot < streams_.all().size(); ++slot) {
    CpuStream& stream = streams_.all()[slot];
    readers_.emplace_back(programs_->control(slot), programs_->ring(slot),
                          programs_->ring_bytes(), DumpWords(), MonotonicNs(),
                          hooks_.get());
    status = programs_->DumpCounters(stream.cpu, CountersReason::kBegin);
    if (!status.ok()) return status;
  }
  began_ = true;
  rotation_.Begin(MonotonicNs());
  run_time_.Begin(MonotonicNs());
  const auto threads = streams_.ScanAtBegin(target.root_pids);
  ReadRings();
  streams_.StoreBegin();
  streams_.StoreThreads(threads);
  status = streams_.BeginSamples(hooks_.get(), threads);
  if (status.ok() && off_cpu_ != nullptr) status = programs_->TakeOffCpu(true);
  return status;
}

absl::Status BpfKernelRecorder::MarkProcesses(
    const std::vector<std::int32_t>& root_pids) {
  for (const std::int32_t pid : root_pids) {
    const absl::Status status = programs_->Mark(pid);
    if (!status.ok()) return status;
  }
  if (marks_.empty()) return absl::OkStatus();
  // Children that are forked meanwhile inherit the mark; a rename is marked in
  // the kernel.
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
    thread_ids_->Add(readers_[i].TakeThreadIds());
    for (ProgramStart& start : readers_[i].TakePrograms()) {
      program_starts_.push_back(std::move(start));
    }
  }
  if (off_cpu_ != nullptr) off_cpu_->Drain(streams_.all());
  streams_.DrainSamples();
}

absl::Status BpfKernelRecorder::EndOffCpu() {
  if (off_cpu_ == nullptr) return absl::OkStatus();
  const absl::Status status = programs_->TakeOffCpu(false);
  const std::uint64_t end_ns = MonotonicNs();
  ReadRings();
  off_cpu_->TakeWaiting(end_ns, streams_.all());
  streams_.samples()->SetOffCpuSums(off_cpu_->Sums(streams_.all().size()));
  return status;
}

void BpfKernelRecorder::DescribeRefusals() {
  std::vector<std::string> names;
  for (const EventSpec& event : choice_.events) {
    if (event.is_hardware()) names.push_back(event.name);
  }
  for (std::size_t slot = 0; slot < readers_.size(); ++slot) {
    if (readers_[slot].refused_ns() == 0) continue;
    messages_.push_back(absl::StrFormat(
        "%s were not counted on CPU %d for %.3f s of the recording, where they "
        "are absent: another user took the PMU's counters",
        absl::StrJoin(names, ", "), streams_.all()[slot].cpu,
        static_cast<double>(readers_[slot].refused_ns()) * 1e-9));
  }
}

void BpfKernelRecorder::DescribeTexts() {
  std::uint64_t unreadable = 0, cut = 0;
  for (const KernelRingReader& reader : readers_) {
    unreadable += reader.calls().unreadable();
    cut += reader.calls().cut();
  }
  if (unreadable > 0) {
    left_out_.push_back(logformat::Unavailable(
        absl::StrFormat("Texts of system calls could not be read, neither at "
                        "the enter nor at the exit: texts=%d",
                        unreadable),
        unreadable));
  }
  if (cut > 0) {
    left_out_.push_back(
        {logformat::kCutTexts, cut,
         absl::StrFormat("Texts of system calls were longer than %d bytes: "
                         "texts=%d",
                         COUNTRACE_CALL_TEXT_BYTES - 2, cut)});
  }
}

// At which size the same load would have lost nothing.
void BpfKernelRecorder::DescribeLosses() {
  std::uint64_t wanted = 0;
  for (const KernelRingReader& reader : readers_) {
    wanted = std::max(wanted, reader.wanted_bytes());
  }
  if (wanted == 0) return;
  constexpr std::uint64_t kMega = 1 << 20;
  const std::uint64_t bytes = std::bit_ceil(wanted + 1);
  messages_.push_back(absl::StrFormat(
      "A kernel ring was full: --kernel-ring %d%s would have had room",
      bytes < kMega ? bytes >> 10 : bytes >> 20, bytes < kMega ? "K" : "M"));
}

// Reads the rings and stores their records. Returns the time up to which all
// are stored.
std::uint64_t BpfKernelRecorder::StoreRead() {
  // Taken before the rings are read: older records are in them.
  const std::uint64_t horizon_ns = MonotonicNs();
  ReadRings();
  streams_.StoreUntil(horizon_ns);
  return horizon_ns;
}

// Each reading costs the same, whatever there is to read. A program that starts
// ends a long interval, and counters that another user took: they are opened
// again after a reading.
void BpfKernelRecorder::ReadAndChooseInterval() {
  const std::uint64_t longer_ns = std::min(2 * drain_ns_, kLongestDrainNs);
  // Before the rings are read: no start is missed.
  if (may_wait_) programs_->WakeAtPrograms(true);
  const std::uint64_t now_ns = StoreRead();
  run_time_.Pass(now_ns);
  if (!may_wait_) return;
  const bool woken = now_ns < drained_ns_ + drain_ns_ / 2;
  drained_ns_ = now_ns;
  const bool refused = std::any_of(
      readers_.begin(), readers_.end(),
      [](const KernelRingReader& reader) { return reader.refused(); });
  drain_ns_ =
      woken || refused || !program_starts_.empty() ? kDrainNs : longer_ns;
  if (drain_ns_ == kDrainNs) programs_->WakeAtPrograms(false);
}

std::vector<int> BpfKernelRecorder::WakeDescriptors() const {
  if (!may_wait_) return {};
  std::vector<int> all = {programs_->wake_descriptor()};
  if (const SampleRecorder* const samples = streams_.samples()) {
    const std::vector<int> rings = samples->WakeDescriptors();
    all.insert(all.end(), rings.begin(), rings.end());
  }
  return all;
}

void BpfKernelRecorder::Drain() {
  if (!began_ || ended_) return;
  rotation_.ChangeDue(MonotonicNs(), kDrainNs, messages_);
  for (std::size_t slot = 0; slot < readers_.size(); ++slot) {
    if (readers_[slot].refused()) programs_->counters().Retry(slot);
  }
  // A flight recording may have overwritten the last mark.
  constexpr std::uint64_t kMarkAgainNs = 1'000'000'000;
  if (calls_marked_ns_ != 0 &&
      MonotonicNs() >= calls_marked_ns_ + kMarkAgainNs) {
    (void)MarkCalls();
  }
  ReadAndChooseInterval();
  const std::uint64_t lost = RingLost();
  if (std::exchange(lost_seen_, lost) != lost) {
    streams_.FindLostMembers();
  }
}

// Says in each CPU's stream whether system calls and faults are recorded.
absl::Status BpfKernelRecorder::MarkCalls() {
  absl::Status result;
  for (const CpuStream& stream : streams_.all()) {
    result.Update(programs_->DumpCounters(
        stream.cpu, calls_left_out_ ? CountersReason::kCallsLeftOut
                                    : CountersReason::kCallsRecorded));
  }
  calls_marked_ns_ = MonotonicNs();
  return result;
}

absl::Status BpfKernelRecorder::Thin(Thinning thinning) {
  if (SampleRecorder* const samples = streams_.samples()) {
    samples->LeaveOut(thinning == Thinning::kCallsAndSamples);
  }
  const bool leave_out = has_calls_ && thinning != Thinning::kNothing;
  if (leave_out == calls_left_out_) return absl::OkStatus();
  // All records between a mark of either kind and the next one are of a time
  // in which the programs were attached.
  if (!leave_out) {
    const absl::Status attached = programs_->AttachCalls(true);
    if (!attached.ok()) {
      (void)programs_->AttachCalls(false);
      return attached;
    }
    calls_left_out_ = false;
    return MarkCalls();
  }
  calls_left_out_ = true;
  absl::Status result = MarkCalls();
  result.Update(programs_->AttachCalls(false));
  // For triggers: calls that were entered meanwhile are not open.
  result.Update(MarkCalls());
  return result;
}

absl::Status BpfKernelRecorder::DumpForSnapshot() {
  if (!began_ || ended_) return absl::OkStatus();
  absl::Status result;
  for (const CpuStream& stream : streams_.all()) {
    result.Update(
        programs_->DumpCounters(stream.cpu, CountersReason::kSnapshot));
  }
  const std::uint64_t until_ns = MonotonicNs();
  Drain();
  streams_.StoreStarted(until_ns);
  return result;
}

absl::Status BpfKernelRecorder::End() {
  if (!began_ || ended_) return absl::OkStatus();
  Drain();
  absl::Status result = EndOffCpu();
  // The last record of a CPU is its last dump.
  streams_.StopSamples();
  const std::uint64_t horizon_ns = StoreRead();
  streams_.StoreOwners(horizon_ns);
  ended_ = true;
  for (const CpuStream& stream : streams_.all()) {
    result.Update(programs_->DumpCounters(stream.cpu, CountersReason::kEnd));
  }
  run_time_.End(MonotonicNs());
  programs_->Detach();
  ReadRings();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    readers_[i].DrainLosses(streams_.all()[i].batch);
  }
  streams_.EndSamples();
  streams_.StoreUntil(std::numeric_limits<std::uint64_t>::max());
  result.Update(streams_.Close());
  const KernelRecorderStatistics now = statistics();
  if (now.malformed > 0) {
    left_out_.push_back(logformat::Unavailable(
        absl::StrFormat("A kernel ring held invalid data; its rest was "
                        "dropped: rings=%d",
                        now.malformed),
        now.malformed));
  }
  std::uint64_t unreadable = 0;
  for (const KernelRingReader& reader : readers_) {
    unreadable += reader.unreadable();
  }
  if (unreadable > 0) {
    left_out_.push_back(logformat::Unavailable(absl::StrFormat(
        "The kernel could not read some arguments, whose memory was not "
        "there: values=%d; texts are \"(unreadable)\", numbers 0",
        unreadable)));
  }
  recursion_missed_ = programs_->missed_runs();
  programs_->Describe(left_out_);
  rotation_.Describe(choice_, messages_);
  DescribeRefusals();
  DescribeTexts();
  DescribeLosses();
  streams_.DescribeClockErrors(messages_);
  streams_.DescribeSamples(messages_);
  return result;
}

std::uint64_t BpfKernelRecorder::RingLost() const {
  std::uint64_t lost = 0;
  for (const KernelRingReader& reader : readers_) {
    lost += reader.lost() + reader.unnamed();
  }
  return lost;
}

KernelRecorderStatistics BpfKernelRecorder::statistics() const {
  KernelRecorderStatistics sum;
  sum.ring_bytes = programs_->ring_bytes();
  sum.own_bpf_ns = run_time_.estimated_ns();
  sum.own_bpf_sampled_ns = run_time_.sampled_ns();
  for (const KernelRingReader& reader : readers_) {
    sum.dispatches += reader.dispatches();
    sum.malformed += reader.malformed();
  }
  sum.ring_lost = RingLost();
  sum.recursion_missed = recursion_missed_;
  if (const SampleRecorder* const samples = streams_.samples()) {
    sum.left_out_samples = samples->left_out();
  }
  streams_.AddStatistics(sum);
  return sum;
}

BpfProgramOptions ProgramOptions(const KernelRecorderOptions& options,
                                 const std::vector<std::uint32_t>& online,
                                 const EventChoice& choice) {
  BpfProgramOptions programs;
  programs.cpus = online;
  programs.choice = choice;
  programs.fault_records =
      options.fault_records && CountsPageFaults(choice.events);
  programs.wakeups = options.wakeups;
  programs.off_cpu = options.off_cpu;
  programs.names_code = !options.samples.empty() || options.off_cpu.any();
  programs.hooks = options.hooks;
  programs.hook_rules = options.hook_rules;
  programs.gating = options.gating;
  programs.marks = options.marks;
  programs.follow_marks =
      !options.gating.every_process() || !options.marks.empty();
  programs.ring_bytes = options.ring_bytes;
  return programs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenBpfKernelRecorder(
    const KernelRecorderOptions& options) {
  // libbpf would report the refusal, but not the missing capability.
  if (const std::string missing = MissingBpfCapabilities(); !missing.empty()) {
    return absl::PermissionDeniedError(
        absl::StrFormat("Cannot load BPF programs without %s", missing));
  }
  if (!InInitialUserNamespace()) {
    return absl::PermissionDeniedError(
        "Cannot load BPF programs in a user namespace other than the initial "
        "one, where root of this one has no privilege");
  }
  const auto online = OnlineCpus();
  if (!online.ok()) return online.status();
  if (online->empty()) return absl::UnavailableError("No CPU is online");
  std::vector<std::string> messages;
  auto choice = CountableEvents(options, *online, messages);
  if (!choice.ok()) return choice.status();
  BpfProgramOptions programs = ProgramOptions(options, *online, *choice);
  // Before the recording's own programs, which would count the same events.
  const absl::Status calibrated = CalibrateProbes(programs, programs.hooks);
  std::vector<logformat::NotRecorded> left_out;
  auto loaded = BpfPrograms::Load(programs, left_out);
  if (!loaded.ok()) return loaded.status();
  // Another way than the one that was measured.
  for (const std::size_t hook : (*loaded)->functions_not_traced()) {
    programs.hooks.dynamic[hook].cost = logformat::kUnknownProbeCost;
  }
  if (!calibrated.ok()) {
    messages.push_back(absl::StrFormat(
        "The cost of probes could not be measured, so it is not subtracted: "
        "times of segments with probes are upper limits: %s",
        base::StatusText(calibrated)));
  }
  // 2 MiB hold 4 M dispatches a second: less than the default is no problem.
  constexpr std::uint64_t kPlenty = 2 << 20;
  if ((*loaded)->ring_bytes() < std::min(options.ring_bytes, kPlenty)) {
    messages.push_back(absl::StrFormat(
        "Kernel rings are smaller than requested: bytes=%d requested=%d; this "
        "kernel gives no larger ones to BPF",
        (*loaded)->ring_bytes(), options.ring_bytes));
  }
  std::unique_ptr<KernelHookRegistry> hooks;
  if (options.hooks.any() || !options.samples.empty() ||
      options.off_cpu.any()) {
    hooks = std::make_unique<KernelHookRegistry>(programs.hooks.dynamic,
                                                 programs.hooks.arguments);
  }
  for (const BpfCounters::MissingEvent& missing :
       (*loaded)->counters().missing()) {
    messages.push_back(absl::StrFormat("%s is not counted on CPU %d: %s",
                                       missing.name, missing.cpu,
                                       ExplainOpenError(missing.error)));
  }
  auto samples =
      SampleRecorder::Open(options.samples, options.off_cpu, *online, {},
                           [programs = loaded->get()](std::uint64_t address) {
                             return programs->NameKernelCode(address);
                           });
  if (!samples.ok()) return samples.status();
  std::unique_ptr<OffCpuReader> off_cpu;
  if (options.off_cpu.any()) {
    auto opened = OffCpuReader::Open(**loaded, options.off_cpu,
                                     (*samples)->off_cpu_event());
    if (!opened.ok()) return opened.status();
    off_cpu = *std::move(opened);
  }
  RotationSchedule schedule(choice->set_sizes.size(), options.rotate_ns,
                            static_cast<std::uint32_t>(MonotonicNs()));
  return std::make_unique<BpfKernelRecorder>(
      options, *std::move(choice), std::move(schedule), *std::move(loaded),
      *online, std::move(hooks), *std::move(samples), std::move(off_cpu),
      std::move(messages), std::move(left_out));
}

std::optional<std::uint32_t> PriceOfFunctionHooks(FunctionWay way) {
  const auto online = OnlineCpus();
  const auto choice = ParseEventChoice({"task-clock"}, /*running_slot=*/true);
  if (!online.ok() || online->empty() || !choice.ok()) return std::nullopt;
  KernelHookRequest hooks;
  DynamicHook& hook = hooks.dynamic.emplace_back();
  hook.type = DynamicHook::Type::kKernelFunction;
  hook.kind = logformat::HookKind::kSegment;
  HookAttachment at;
  at.function = "any";
  at.traced = way == FunctionWay::kTraced;
  for (const auto place :
       {HookAttachment::Place::kEnter, HookAttachment::Place::kExit}) {
    at.place = place;
    hook.attachments.push_back(at);
  }
  if (!CalibrateProbes(ProgramOptions({}, *online, *choice), hooks).ok()) {
    return std::nullopt;
  }
  return hook.cost->inside.ns + hook.cost->outside.ns;
}

}  // namespace countrace::runtime
