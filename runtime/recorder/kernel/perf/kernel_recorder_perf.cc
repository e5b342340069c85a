// More than 400 lines: one class, the kernel recorder by perf, and its opening.
#include "runtime/recorder/kernel/perf/kernel_recorder_perf.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/errno_status.h"
#include "logformat/loss.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/perf/countable_events.h"
#include "runtime/recorder/kernel/perf/perf_cpu_group.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/thread_placement.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;

// Approximate interval between calls of Drain().
constexpr std::uint64_t kDrainPeriodNs = 10'000'000;
// Interval of the checks whether the PMU still counts for us.
constexpr std::uint64_t kRefusalPeriodNs = 50'000'000;

class PerfKernelRecorder final : public KernelRecorder {
 public:
  PerfKernelRecorder(const KernelRecorderOptions& options, EventChoice choice,
                     RotationSchedule schedule,
                     std::vector<PerfCpuGroup> groups,
                     std::unique_ptr<SampleRecorder> samples,
                     std::vector<std::string> messages,
                     std::vector<logformat::NotRecorded> left_out)
      : choice_(std::move(choice)),
        schedule_(std::move(schedule)),
        refused_(choice_.set_sizes.size(), 0),
        groups_(std::move(groups)),
        streams_(options.gating, options.marks),
        messages_(std::move(messages)) {
    left_out_ = std::move(left_out);
    for (const PerfCpuGroup& group : groups_) {
      streams_.Add(group.cpu(), group.present());
    }
    if (samples != nullptr) {
      points_.emplace(std::vector<DynamicHook>());
      streams_.SetSamples(std::move(samples));
    }
  }
  ~PerfKernelRecorder() override { (void)End(); }

  const EventChoice& choice() const override { return choice_; }
  absl::Status Begin(const KernelRecorderTarget& target) override;
  void Drain() override;
  absl::Status DumpForSnapshot() override;
  absl::Status End() override;
  std::vector<int> WakeDescriptors() const override;
  KernelRecorderStatistics statistics() const override;
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  absl::Status BeginCpu(std::size_t index, AffinityGuard& affinity);
  void ProbeIdleSwitches(std::size_t index);
  void WatchHiddenSwitches();
  void DrainCpu(std::size_t index);
  std::uint64_t StoreRead();

  void ChangeSets(std::uint64_t now_ns);
  void DescribeSets();
  void FindRefusals(std::uint64_t now_ns);
  void DescribeRefusals();

  EventChoice choice_;
  RotationSchedule schedule_;
  std::vector<std::uint32_t> sets_;        // counting now, by CPU
  std::vector<std::uint64_t> dispatches_;  // at the last rotation, by CPU
  std::vector<std::uint64_t> refused_;     // intervals, by set
  std::string change_error_;               // the first one
  std::uint64_t refusals_looked_ns_ = 0;
  std::vector<PerfCpuGroup> groups_;  // beside streams_.all()
  CpuStreams streams_;
  std::optional<KernelHookRegistry> points_;  // with samples
  std::vector<std::string> messages_;
  std::uint64_t lost_seen_ =
      0;  // decoder losses that FindLostMembers() has handled
  bool began_ = false;
  bool ended_ = false;
};

void PerfKernelRecorder::DrainCpu(std::size_t index) {
  PerfCpuGroup& group = groups_[index];
  group.Drain(group.ring().Head(), streams_.all()[index].batch);
}

void PerfKernelRecorder::WatchHiddenSwitches() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    CpuStream& stream = streams_.all()[i];
    if (!stream.hides_switches || stream.watch_failed ||
        groups_[i].watches_switch_ins()) {
      continue;
    }
    const absl::Status status = groups_[i].WatchSwitchIns();
    stream.several_rings = status.ok();
    stream.watch_failed = !status.ok();
    if (status.ok()) continue;
    messages_.push_back(absl::StrFormat(
        "The kernel hides some switches of CPU %d, and the switch-ins after "
        "them cannot be recorded: %s; the time around them will be "
        "unattributed. Use the BPF back end, or smaller rings (--kernel-ring) "
        "to leave memory for a second one",
        stream.cpu, base::StatusText(status)));
  }
}

void PerfKernelRecorder::ProbeIdleSwitches(std::size_t index) {
  // Some kernels hide switches away from the idle thread of some CPUs (which
  // inherited that from a hidden process). Every thread that wakes there would
  // be invisible, so check before counting begins.
  const timespec moment{.tv_sec = 0, .tv_nsec = 50'000};
  for (int i = 0; i < 3; ++i) nanosleep(&moment, nullptr);
  DrainCpu(index);
  CpuStream& stream = streams_.all()[index];
  for (const KernelRecord& record : stream.batch.records()) {
    CpuStreams::FollowSwitch(stream, record);
  }
  stream.batch.Consume(stream.batch.size());
  WatchHiddenSwitches();
}

absl::Status PerfKernelRecorder::BeginCpu(std::size_t index,
                                          AffinityGuard& affinity) {
  PerfCpuGroup& group = groups_[index];
  CpuStream& stream = streams_.all()[index];
  const bool moved = affinity.MoveTo(group.cpu());
  if (!moved) {
    messages_.push_back(
        absl::StrFormat("Cannot run on CPU %d (%s): the threads that ran there "
                        "at the beginning and the end are unknown",
                        group.cpu(), std::strerror(errno)));
  }
  absl::Status status = group.Enable(schedule_.rotates() ? sets_[index] : 0);
  if (!status.ok()) return status;
  if (moved) ProbeIdleSwitches(index);
  absl::StatusOr<GroupReading> reading = group.Read();
  if (!reading.ok()) return reading.status();
  stream.running_tid = moved ? static_cast<std::int32_t>(gettid()) : -1;
  // The reading includes everything before it.
  group.ring().SkipTo(reading->ring_head);
  stream.begin_ns = reading->time_ns;
  CpuStreams::StoreCounters(stream, reading->time_ns, CountersReason::kBegin,
                            moved ? static_cast<std::uint32_t>(gettid()) : 0,
                            reading->counters);
  return absl::OkStatus();
}

absl::Status PerfKernelRecorder::Begin(const KernelRecorderTarget& target) {
  const absl::Status created = streams_.Create(target);
  if (!created.ok()) return created;
  {
    AffinityGuard affinity;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (schedule_.rotates()) sets_.push_back(schedule_.Next(i));
      const absl::Status status = BeginCpu(i, affinity);
      if (!status.ok()) return status;
    }
  }
  if (schedule_.rotates()) dispatches_.assign(groups_.size(), 0);
  schedule_.Begin(MonotonicNs());
  began_ = true;
  const auto threads = streams_.ScanAtBegin(target.root_pids);
  for (std::size_t i = 0; i < groups_.size(); ++i) DrainCpu(i);
  streams_.StoreThreads(threads);
  if (!points_) return absl::OkStatus();
  absl::Status status = points_->Open(target.directory);
  if (status.ok()) status = streams_.BeginSamples(&*points_, threads);
  return status;
}

void PerfKernelRecorder::ChangeSets(std::uint64_t now_ns) {
  if (!schedule_.IsDue(now_ns, kDrainPeriodNs)) return;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    DrainCpu(i);
    // Idle since the last rotation: nothing to count, and no CPU to wake. (A
    // busy CPU may also have no dispatches: one thread that runs without a
    // switch.)
    if (streams_.all()[i].running_tid == 0 &&
        groups_[i].decoder().dispatches() == dispatches_[i]) {
      continue;
    }
    const std::uint32_t next = schedule_.Next(i);
    const absl::Status status =
        groups_[i].ChangeSet(next, streams_.all()[i].batch);
    sets_[i] = next;
    dispatches_[i] = groups_[i].decoder().dispatches();
    if (status.ok()) continue;
    ++refused_[next];
    if (change_error_.empty()) change_error_ = base::StatusText(status);
  }
}

void PerfKernelRecorder::FindRefusals(std::uint64_t now_ns) {
  if (now_ns < refusals_looked_ns_ + kRefusalPeriodNs) return;
  refusals_looked_ns_ = now_ns;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    DrainCpu(i);
    const absl::Status status = groups_[i].FindRefusal(streams_.all()[i].batch);
    if (!status.ok() && change_error_.empty()) {
      change_error_ = base::StatusText(status);
    }
  }
}

void PerfKernelRecorder::DescribeRefusals() {
  std::vector<std::string> names;
  for (const EventSpec& event : choice_.events) {
    if (event.is_hardware()) names.push_back(event.name);
  }
  for (const PerfCpuGroup& group : groups_) {
    if (group.refusals() == 0) continue;
    messages_.push_back(absl::StrFormat(
        "%s were not counted on CPU %d for %.3f s of the recording, where they "
        "are absent: another user took the PMU's counters; each time that "
        "began (%d) no switch was recorded for up to %d ms. The BPF back end "
        "does not lose them",
        absl::StrJoin(names, ", "), group.cpu(),
        static_cast<double>(group.refused_ns()) * 1e-9, group.refusals(),
        kRefusalPeriodNs / 1'000'000));
  }
}

void PerfKernelRecorder::DescribeSets() {
  for (std::size_t set = 0; set < refused_.size(); ++set) {
    if (refused_[set] == 0) continue;
    messages_.push_back(absl::StrFormat(
        "Event set %d {%s} was not counted in %d of its intervals, where its "
        "values are absent: %s",
        set, NamesOf(choice_, set), refused_[set], change_error_));
  }
}

// Reads the rings and stores their records. Returns the time up to which all
// are stored.
std::uint64_t PerfKernelRecorder::StoreRead() {
  // Taken before the rings are read: older records are in them.
  const std::uint64_t horizon_ns = MonotonicNs();
  for (std::size_t i = 0; i < groups_.size(); ++i) DrainCpu(i);
  const std::uint64_t lost = statistics().ring_lost;
  if (std::exchange(lost_seen_, lost) != lost) streams_.FindLostMembers();
  streams_.DrainSamples();
  streams_.StoreUntil(horizon_ns);
  return horizon_ns;
}

void PerfKernelRecorder::Drain() {
  if (!began_ || ended_) return;
  FindRefusals(MonotonicNs());
  ChangeSets(MonotonicNs());
  StoreRead();
  WatchHiddenSwitches();
}

absl::Status PerfKernelRecorder::DumpForSnapshot() {
  if (!began_ || ended_) return absl::OkStatus();
  absl::Status result;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    result.Update(groups_[i].DumpForSnapshot(streams_.all()[i].batch));
  }
  const std::uint64_t until_ns = MonotonicNs();
  Drain();
  streams_.StoreStarted(until_ns);
  return result;
}

absl::Status PerfKernelRecorder::End() {
  if (!began_ || ended_) return absl::OkStatus();
  refusals_looked_ns_ = 0;  // the last counters need a group that is on
  Drain();
  // The last record of a CPU is its last dump.
  streams_.StopSamples();
  const std::uint64_t horizon_ns = StoreRead();
  streams_.StoreOwners(horizon_ns);
  ended_ = true;
  struct Last {
    bool known = false;
    GroupReading reading;
    std::uint32_t running_tid = 0;
  };
  std::vector<Last> last(groups_.size());
  absl::Status result;
  {
    AffinityGuard affinity;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      PerfCpuGroup& group = groups_[i];
      const bool moved = affinity.MoveTo(group.cpu());
      // With the ring drained, a switch away and back makes the kernel report
      // the records that it could not store before.
      DrainCpu(i);
      const timespec moment{.tv_sec = 0, .tv_nsec = 1000};
      nanosleep(&moment, nullptr);
      absl::StatusOr<GroupReading> reading = group.Read();
      if (!reading.ok()) {
        result.Update(reading.status());
        DrainCpu(i);
        continue;
      }
      group.Drain(reading->ring_head, streams_.all()[i].batch,
                  reading->time_ns);
      last[i] = {
          .known = true,
          .reading = *std::move(reading),
          .running_tid = moved ? static_cast<std::uint32_t>(gettid()) : 0};
    }
  }
  streams_.EndSamples();
  streams_.StoreUntil(std::numeric_limits<std::uint64_t>::max());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!last[i].known) continue;
    CpuStreams::StoreCounters(streams_.all()[i], last[i].reading.time_ns,
                              CountersReason::kEnd, last[i].running_tid,
                              last[i].reading.counters);
  }
  result.Update(streams_.Close());
  for (const PerfCpuGroup& group : groups_) {
    const PerfDecoder& decoder = group.decoder();
    if (decoder.malformed() == 0) continue;
    const perf_event_header& first = decoder.first_malformed();
    left_out_.push_back(logformat::Unavailable(
        absl::StrFormat("Kernel records of unknown layout were left out: "
                        "cpu=%d records=%d first: type=%d misc=%d bytes=%d",
                        group.cpu(), decoder.malformed(), first.type,
                        first.misc, first.size),
        decoder.malformed()));
  }
  DescribeSets();
  DescribeRefusals();
  streams_.DescribeClockErrors(messages_);
  streams_.DescribeSamples(messages_);
  return result;
}

std::vector<int> PerfKernelRecorder::WakeDescriptors() const {
  std::vector<int> descriptors;
  for (const PerfCpuGroup& group : groups_) {
    descriptors.push_back(group.ring_fd());
  }
  return descriptors;
}

KernelRecorderStatistics PerfKernelRecorder::statistics() const {
  KernelRecorderStatistics sum;
  for (const PerfCpuGroup& group : groups_) {
    sum.dispatches += group.decoder().dispatches();
    sum.malformed += group.decoder().malformed();
    sum.ring_lost += group.decoder().lost();
    sum.ring_bytes = group.ring().data_bytes();
  }
  streams_.AddStatistics(sum);
  return sum;
}

}  // namespace

namespace {

// The rings do not have it: absent, not 0. Without it the report has one CPU
// time only, so the message says which.
EventChoice WithoutExecRuntime(const EventChoice& choice,
                               std::vector<std::string>& messages) {
  std::vector<bool> keep;
  for (const EventSpec& event : choice.events) {
    keep.push_back(!event.is_exec_runtime());
    if (keep.back()) continue;
    messages.emplace_back(
        "CPU time is from switch to switch: the scheduler's own account "
        "(exec-runtime) needs the BPF back end (`countrace doctor` shows why "
        "it does not work here)");
  }
  return Keep(choice, keep);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenPerfKernelRecorder(
    const KernelRecorderOptions& options) {
  const absl::StatusOr<Tracefs> tracefs = Tracefs::Open();
  if (!tracefs.ok()) return tracefs.status();
  PerfCpuGroupOptions group;
  const auto id = tracefs->TracepointId("sched", "sched_switch");
  if (!id.ok()) return id.status();
  group.switch_tracepoint = *id;
  const auto text = tracefs->Read("events/sched/sched_switch/format");
  if (!text.ok()) return text.status();
  const auto format = ParseSwitchFormat(*text);
  if (!format.ok()) return format.status();
  group.format = *format;
  const auto online = OnlineCpus();
  if (!online.ok()) return online.status();
  if (online->empty()) return absl::UnavailableError("No CPU is online");

  std::vector<std::string> messages;
  std::vector<logformat::NotRecorded> left_out;
  auto choice = CountableEvents(options, *online, messages);
  if (!choice.ok()) return choice.status();
  choice = WithoutExecRuntime(*choice, messages);
  group.choice = *choice;
  group.fault_records =
      options.fault_records && CountsPageFaults(choice->events);
  group.fault_mode = ModeOfFaults(choice->events);
  group.ring_bytes = options.ring_bytes;
  std::vector<PerfCpuGroup> cpus;
  std::uint64_t smallest_ring = options.ring_bytes;
  for (const std::uint32_t cpu : *online) {
    group.cpu = cpu;
    absl::StatusOr<PerfCpuGroup> opened = PerfCpuGroup::Open(group);
    if (!opened.ok()) {
      // It went offline after we read the list, or is going offline.
      if (absl::IsNotFound(opened.status()) && online->size() > 1) {
        left_out.push_back(logformat::Unavailable(
            absl::StrFormat("CPU %d is not recorded: %s", cpu,
                            base::StatusText(opened.status()))));
        continue;
      }
      return opened.status();
    }
    for (std::size_t i = 0; i < choice->events.size(); ++i) {
      if (opened->missing()[i] != 0) {
        messages.push_back(absl::StrFormat(
            "%s is not counted on CPU %d: %s", choice->events[i].name, cpu,
            ExplainOpenError(opened->missing()[i])));
      }
    }
    smallest_ring = std::min(smallest_ring, opened->ring().data_bytes());
    cpus.emplace_back(*std::move(opened));
  }
  if (cpus.empty()) return absl::UnavailableError("No CPU can be recorded");
  if (smallest_ring < options.ring_bytes) {
    messages.push_back(absl::StrFormat(
        "Kernel rings are smaller than requested: bytes=%d requested=%d; raise "
        "kernel.perf_event_mlock_kb or `ulimit -l`, or record as root",
        smallest_ring, options.ring_bytes));
  }
  std::vector<std::uint32_t> numbers;
  for (const PerfCpuGroup& cpu : cpus) numbers.push_back(cpu.cpu());
  auto samples = SampleRecorder::Open(options.samples, {}, numbers);
  if (!samples.ok()) return samples.status();
  RotationSchedule schedule(choice->set_sizes.size(), options.rotate_ns,
                            static_cast<std::uint32_t>(MonotonicNs()));
  return std::make_unique<PerfKernelRecorder>(
      options, *std::move(choice), std::move(schedule), std::move(cpus),
      *std::move(samples), std::move(messages), std::move(left_out));
}

}  // namespace countrace::runtime
