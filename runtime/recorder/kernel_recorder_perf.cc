#include "runtime/recorder/kernel_recorder_perf.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <queue>
#include <span>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "logformat/packet_layout.h"
#include "logformat/packet_writer.h"
#include "runtime/recorder/command_scope.h"
#include "runtime/recorder/cpu_list.h"
#include "runtime/recorder/event_list.h"
#include "runtime/recorder/monotonic_clock.h"
#include "runtime/recorder/perf_cpu_group.h"
#include "runtime/recorder/process_scan.h"
#include "runtime/recorder/small_file.h"
#include "runtime/recorder/thread_placement.h"
#include "runtime/recorder/tracefs.h"

namespace countrace::runtime {
namespace {

using logformat::CountersReason;
using logformat::CpuEvent;
using logformat::PacketWriter;
using logformat::SessionScope;

// One CPU: its events, what was read but not yet stored, its stream.
struct CpuState {
  explicit CpuState(PerfCpuGroup opened) : group(std::move(opened)) {}
  PerfCpuGroup group;
  RecordBatch batch;
  std::size_t next = 0;  // first record of `batch` that is not stored yet
  std::unique_ptr<PacketWriter> writer;
  std::uint64_t begin_ns = 0;
  std::int32_t running_tid = -1;  // who was switched in last; -1: unknown
  bool hides_switches = false;    // a dispatch did not follow from the last one
  // kCommand: the last dispatch if it was left out.
  std::uint64_t left_out_ns = 0;  // 0: it was stored
  std::vector<std::uint64_t> left_out;
};

std::int32_t PrevTid(const RecordBatch& batch, const KernelRecord& record) {
  return static_cast<std::int32_t>(*batch.Words(record) & 0xffffff);
}
std::int32_t NextTid(const RecordBatch& batch, const KernelRecord& record) {
  return static_cast<std::int32_t>(*batch.Words(record) >> 24 & 0xffffff);
}

// The thread that ran on the CPU when it caused `record`; -1 if none is known.
std::int32_t ActingThread(const RecordBatch& batch,
                          const KernelRecord& record) {
  switch (static_cast<CpuEvent>(record.event_id)) {
    case CpuEvent::kDispatch:
      return PrevTid(batch, record);
    case CpuEvent::kSwitchIn:
      return NextTid(batch, record);
    case CpuEvent::kFork:
      return batch.Body<logformat::TaskRecord>(record).parent_tid;
    case CpuEvent::kExit:
      return batch.Body<logformat::TaskRecord>(record).tid;
    case CpuEvent::kExec:
    case CpuEvent::kComm:
      return batch.Body<logformat::CommRecord>(record).tid;
    case CpuEvent::kFault:
      return batch.Body<logformat::FaultRecord>(record).tid;
    case CpuEvent::kCounters:
    case CpuEvent::kProcessState:
      break;
  }
  return -1;
}

class PerfKernelRecorder final : public KernelRecorder {
 public:
  PerfKernelRecorder(KernelRecorderOptions options,
                     std::vector<EventSpec> events, std::vector<CpuState> cpus,
                     std::vector<std::string> messages)
      : options_(std::move(options)),
        events_(std::move(events)),
        cpus_(std::move(cpus)),
        messages_(std::move(messages)) {}
  ~PerfKernelRecorder() override { (void)End(); }

  const std::vector<EventSpec>& events() const override { return events_; }
  absl::Status Begin(const KernelRecorderTarget& target) override;
  void Drain() override;
  absl::Status End() override;
  std::vector<int> WakeDescriptors() const override;
  KernelRecorderStatistics statistics() const override;
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  void ProbeIdleSwitches(CpuState& cpu);
  absl::Status BeginCpu(CpuState& cpu, AffinityGuard& affinity);
  void StoreCounters(CpuState& cpu, const GroupReading& reading,
                     CountersReason reason, std::uint32_t running_tid);
  void StoreProcessState(CpuState& cpu, const ProcessThread& thread,
                         std::uint64_t time_ns);
  void StoreThreadsAtBegin(std::int32_t root_pid);
  // False for a switch-in that tells nothing new: a dispatch led there.
  bool FollowSwitch(CpuState& cpu, const KernelRecord& record);
  void WatchHiddenSwitches(CpuState& cpu);
  void Store(CpuState& cpu, const KernelRecord& record);
  void StoreIfInScope(CpuState& cpu, const KernelRecord& record);
  // Stores the records up to `horizon_ns`; before it, every CPU has been read.
  void StoreUntil(std::uint64_t horizon_ns);
  void FindLostMembers(std::uint64_t time_ns);

  KernelRecorderOptions options_;
  std::vector<EventSpec> events_;
  std::vector<CpuState> cpus_;
  std::vector<std::string> messages_;
  CommandScope scope_;
  std::uint64_t lost_seen_ = 0;  // decoder losses FindLostMembers() knows of
  std::uint64_t discarded_ = 0;  // by the kernel's rings
  std::uint64_t out_of_order_ = 0;
  bool began_ = false;
  bool ended_ = false;
};

void PerfKernelRecorder::ProbeIdleSwitches(CpuState& cpu) {
  // Some kernels never show switches away from the idle thread of some CPUs
  // (one that inherited it from a hidden process). Every thread that wakes
  // there would be unseen, so look before anything counts.
  const timespec moment{.tv_sec = 0, .tv_nsec = 50'000};
  for (int i = 0; i < 3; ++i) nanosleep(&moment, nullptr);
  out_of_order_ += cpu.group.Drain(cpu.group.ring().Head(), cpu.batch);
  for (const KernelRecord& record : cpu.batch.records()) {
    FollowSwitch(cpu, record);
  }
  cpu.batch.Consume(cpu.batch.size());
  WatchHiddenSwitches(cpu);
}

absl::Status PerfKernelRecorder::BeginCpu(CpuState& cpu,
                                          AffinityGuard& affinity) {
  const bool moved = affinity.MoveTo(cpu.group.cpu());
  if (!moved) {
    messages_.push_back(absl::StrFormat(
        "CPU %d cannot be visited (%s): which thread ran there at the "
        "beginning and the end is not known",
        cpu.group.cpu(), std::strerror(errno)));
  }
  absl::Status status = cpu.group.Enable();
  if (!status.ok()) return status;
  if (moved) ProbeIdleSwitches(cpu);
  absl::StatusOr<GroupReading> reading = cpu.group.Read();
  if (!reading.ok()) return reading.status();
  cpu.running_tid = moved ? static_cast<std::int32_t>(gettid()) : -1;
  // Whatever came before the reading is in it.
  cpu.group.ring().SkipTo(reading->ring_head);
  cpu.begin_ns = reading->time_ns;
  StoreCounters(cpu, *reading, CountersReason::kBegin,
                moved ? static_cast<std::uint32_t>(gettid()) : 0);
  return absl::OkStatus();
}

absl::Status PerfKernelRecorder::Begin(const KernelRecorderTarget& target) {
  for (CpuState& cpu : cpus_) {
    logformat::PacketWriterOptions writer;
    writer.directory = target.directory;
    writer.file = absl::StrFormat("cpu-%d", cpu.group.cpu());
    writer.stream_class = logformat::StreamClass::kCpu;
    writer.uuid = target.uuid;
    writer.cpu = static_cast<std::int32_t>(cpu.group.cpu());
    writer.present = cpu.group.present();
    auto created = PacketWriter::Create(writer);
    if (!created.ok()) return created.status();
    cpu.writer = *std::move(created);
  }
  {
    AffinityGuard affinity;
    for (CpuState& cpu : cpus_) {
      const absl::Status status = BeginCpu(cpu, affinity);
      if (!status.ok()) return status;
    }
  }
  began_ = true;
  StoreThreadsAtBegin(target.root_pid);
  return absl::OkStatus();
}

void PerfKernelRecorder::StoreCounters(CpuState& cpu,
                                       const GroupReading& reading,
                                       CountersReason reason,
                                       std::uint32_t running_tid) {
  logformat::CountersRecord record{};
  record.reason = static_cast<std::uint32_t>(reason);
  record.running_tid = running_tid;
  std::vector<std::byte> body(sizeof(record) - 8 + reading.counters.size() * 8);
  std::memcpy(body.data(), reinterpret_cast<const std::byte*>(&record) + 8,
              sizeof(record) - 8);
  if (!reading.counters.empty()) {
    std::memcpy(body.data() + sizeof(record) - 8, reading.counters.data(),
                reading.counters.size() * 8);
  }
  cpu.writer->Append(static_cast<std::uint16_t>(CpuEvent::kCounters),
                     reading.time_ns, body);
}

void PerfKernelRecorder::StoreProcessState(CpuState& cpu,
                                           const ProcessThread& thread,
                                           std::uint64_t time_ns) {
  logformat::StateRecord record{};
  record.pid = thread.pid;
  record.tid = thread.tid;
  record.parent_pid = thread.parent_pid;
  record.flags = thread.is_kernel_thread ? 1u : 0u;
  std::memcpy(record.comm, thread.comm.data(),
              std::min(thread.comm.size(), sizeof(record.comm) - 1));
  cpu.writer->Append(
      static_cast<std::uint16_t>(CpuEvent::kProcessState), time_ns,
      std::as_bytes(std::span(&record, 1)).subspan(sizeof(record.header)));
}

void PerfKernelRecorder::StoreThreadsAtBegin(std::int32_t root_pid) {
  const bool command = options_.scope == SessionScope::kCommand;
  const std::vector<ProcessThread> threads =
      command ? ScanThreadsOf(root_pid) : ScanThreads();
  if (command) {
    scope_.Add(root_pid, root_pid);
    for (const ProcessThread& thread : threads) {
      scope_.Add(thread.pid, thread.tid);
    }
  }
  // Threads that were created during the scan are known from their fork.
  absl::flat_hash_set<std::int32_t> forked;
  for (CpuState& cpu : cpus_) {
    out_of_order_ += cpu.group.Drain(cpu.group.ring().Head(), cpu.batch);
    for (const KernelRecord& record : cpu.batch.records()) {
      if (record.event_id == static_cast<std::uint16_t>(CpuEvent::kFork)) {
        forked.insert(cpu.batch.Body<logformat::TaskRecord>(record).tid);
      }
    }
  }
  CpuState& first = cpus_.front();
  for (const ProcessThread& thread : threads) {
    if (!forked.contains(thread.tid)) {
      StoreProcessState(first, thread, first.begin_ns);
    }
  }
}

bool PerfKernelRecorder::FollowSwitch(CpuState& cpu,
                                      const KernelRecord& record) {
  switch (record.event_id) {
    case kLossEntry:
      // What was switched in before a loss says nothing about after it.
      cpu.running_tid = -1;
      return true;
    case static_cast<std::uint16_t>(CpuEvent::kDispatch):
      if (cpu.running_tid >= 0 &&
          PrevTid(cpu.batch, record) != cpu.running_tid) {
        cpu.hides_switches = true;
      }
      cpu.running_tid = NextTid(cpu.batch, record);
      return true;
    case static_cast<std::uint16_t>(CpuEvent::kSwitchIn): {
      if (record.time_ns < cpu.begin_ns) return false;
      const std::int32_t known = cpu.running_tid;
      if (known >= 0) cpu.running_tid = NextTid(cpu.batch, record);
      return known != cpu.running_tid;
    }
    default:
      return true;
  }
}

void PerfKernelRecorder::WatchHiddenSwitches(CpuState& cpu) {
  if (!cpu.hides_switches || cpu.group.watches_switch_ins()) return;
  const absl::Status status = cpu.group.WatchSwitchIns();
  if (status.ok()) return;
  cpu.hides_switches = false;
  messages_.push_back(absl::StrFormat(
      "The kernel does not show all switches of CPU %d, and who follows them "
      "cannot be watched: %s",
      cpu.group.cpu(), StatusText(status)));
}

void PerfKernelRecorder::Store(CpuState& cpu, const KernelRecord& record) {
  if (record.event_id == kLossEntry) {
    const std::uint64_t lost = *cpu.batch.Words(record);
    discarded_ += lost;
    cpu.writer->CountDiscarded(logformat::DiscardCause::kKernelRingFull, lost);
    return;
  }
  cpu.writer->Append(record.event_id, record.time_ns, cpu.batch.Bytes(record));
}

void PerfKernelRecorder::StoreIfInScope(CpuState& cpu,
                                        const KernelRecord& record) {
  const std::int32_t running_tid = cpu.running_tid;
  if (!FollowSwitch(cpu, record)) return;
  const std::int32_t actor = ActingThread(cpu.batch, record);
  // Some kernels do not show switches away from certain processes (a sandbox's
  // own agent). A member that runs here without having been switched in came
  // after such a switch: the last one seen bounds when.
  if (cpu.left_out_ns != 0 && actor != running_tid && scope_.Contains(actor)) {
    cpu.writer->Append(static_cast<std::uint16_t>(CpuEvent::kDispatch),
                       cpu.left_out_ns, std::as_bytes(std::span(cpu.left_out)));
    cpu.left_out_ns = 0;
  }
  const bool keep = scope_.Apply(cpu.batch, record);
  if (keep) Store(cpu, record);
  if (record.event_id == kLossEntry) {
    cpu.left_out_ns = 0;
  } else if (record.event_id ==
             static_cast<std::uint16_t>(CpuEvent::kDispatch)) {
    const std::uint64_t* words = cpu.batch.Words(record);
    cpu.left_out_ns = keep ? 0 : record.time_ns;
    if (!keep) cpu.left_out.assign(words, words + record.body_words);
  }
}

void PerfKernelRecorder::StoreUntil(std::uint64_t horizon_ns) {
  if (options_.scope != SessionScope::kCommand) {
    // Each CPU is a stream of its own and nothing is filtered: no merge.
    for (CpuState& cpu : cpus_) {
      const bool two_rings = cpu.group.watches_switch_ins();
      for (const KernelRecord& record : cpu.batch.records()) {
        if (two_rings && record.time_ns > horizon_ns) break;
        ++cpu.next;
        if (FollowSwitch(cpu, record)) Store(cpu, record);
      }
      cpu.batch.Consume(cpu.next);
      cpu.next = 0;
      WatchHiddenSwitches(cpu);
    }
    return;
  }
  // Merge by time, so that a fork on one CPU is seen before the child runs on
  // another one.
  struct Head {
    std::uint64_t time_ns;
    std::size_t cpu;
    bool operator>(const Head& other) const {
      return time_ns != other.time_ns ? time_ns > other.time_ns
                                      : cpu > other.cpu;
    }
  };
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [this, &heads, horizon_ns](std::size_t index) {
    const CpuState& cpu = cpus_[index];
    if (cpu.next < cpu.batch.size()) {
      const std::uint64_t time_ns = cpu.batch.records()[cpu.next].time_ns;
      if (time_ns <= horizon_ns) heads.push({time_ns, index});
    }
  };
  for (std::size_t i = 0; i < cpus_.size(); ++i) push(i);
  while (!heads.empty()) {
    const std::size_t index = heads.top().cpu;
    heads.pop();
    CpuState& cpu = cpus_[index];
    const KernelRecord& record = cpu.batch.records()[cpu.next++];
    StoreIfInScope(cpu, record);
    push(index);
  }
  for (CpuState& cpu : cpus_) {
    cpu.batch.Consume(cpu.next);
    cpu.next = 0;
    WatchHiddenSwitches(cpu);
  }
}

void PerfKernelRecorder::FindLostMembers(std::uint64_t time_ns) {
  std::uint64_t lost = 0;
  for (const CpuState& cpu : cpus_) lost += cpu.group.decoder().lost();
  if (lost == lost_seen_) return;
  lost_seen_ = lost;
  // A fork record may be among the lost: look for descendants we do not know.
  // Parents come before their children often enough, so repeat until nothing
  // new is found.
  const std::vector<ProcessThread> threads = ScanThreads();
  for (bool found = true; found;) {
    found = false;
    for (const ProcessThread& thread : threads) {
      if (scope_.Contains(thread.tid)) continue;
      if (!scope_.Contains(thread.pid) && !scope_.Contains(thread.parent_pid)) {
        continue;
      }
      scope_.Add(thread.pid, thread.tid);
      StoreProcessState(cpus_.front(), thread, time_ns);
      found = true;
    }
  }
}

void PerfKernelRecorder::Drain() {
  if (!began_ || ended_) return;
  // Taken before the rings are read: what is older is in them.
  const std::uint64_t horizon_ns = MonotonicNs();
  for (CpuState& cpu : cpus_) {
    out_of_order_ += cpu.group.Drain(cpu.group.ring().Head(), cpu.batch);
  }
  StoreUntil(horizon_ns);
  if (options_.scope == SessionScope::kCommand) FindLostMembers(horizon_ns);
}

absl::Status PerfKernelRecorder::End() {
  if (!began_ || ended_) return absl::OkStatus();
  Drain();
  ended_ = true;
  struct Last {
    bool known = false;
    GroupReading reading;
    std::uint32_t running_tid = 0;
  };
  std::vector<Last> last(cpus_.size());
  absl::Status result;
  {
    AffinityGuard affinity;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      CpuState& cpu = cpus_[i];
      const bool moved = affinity.MoveTo(cpu.group.cpu());
      // With the ring drained, a switch away and back makes the kernel report
      // what it could not store before.
      out_of_order_ += cpu.group.Drain(cpu.group.ring().Head(), cpu.batch);
      const timespec moment{.tv_sec = 0, .tv_nsec = 1000};
      nanosleep(&moment, nullptr);
      absl::StatusOr<GroupReading> reading = cpu.group.Read();
      if (!reading.ok()) {
        result.Update(reading.status());
        out_of_order_ += cpu.group.Drain(cpu.group.ring().Head(), cpu.batch);
        continue;
      }
      out_of_order_ +=
          cpu.group.Drain(reading->ring_head, cpu.batch, reading->time_ns);
      last[i] = {
          .known = true,
          .reading = *std::move(reading),
          .running_tid = moved ? static_cast<std::uint32_t>(gettid()) : 0};
    }
  }
  StoreUntil(std::numeric_limits<std::uint64_t>::max());
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    if (last[i].known) {
      StoreCounters(cpus_[i], last[i].reading, CountersReason::kEnd,
                    last[i].running_tid);
    }
    result.Update(cpus_[i].writer->Close());
  }
  const KernelRecorderStatistics now = statistics();
  if (now.malformed > 0) {
    messages_.push_back(absl::StrFormat(
        "Kernel records of unknown layout were left out: records=%d",
        now.malformed));
  }
  if (now.clock_errors > 0) {
    messages_.push_back(absl::StrFormat(
        "Times of kernel records went back and were clamped: records=%d",
        now.clock_errors));
  }
  return result;
}

std::vector<int> PerfKernelRecorder::WakeDescriptors() const {
  std::vector<int> descriptors;
  for (const CpuState& cpu : cpus_) descriptors.push_back(cpu.group.ring_fd());
  return descriptors;
}

KernelRecorderStatistics PerfKernelRecorder::statistics() const {
  KernelRecorderStatistics sum;
  for (const CpuState& cpu : cpus_) {
    sum.dispatches += cpu.group.decoder().dispatches();
    sum.malformed += cpu.group.decoder().malformed();
    sum.ring_lost += cpu.group.decoder().lost();
    sum.ring_bytes = cpu.group.ring().data_bytes();
    if (cpu.writer == nullptr) continue;
    sum.records += cpu.writer->records();
    sum.bytes += cpu.writer->bytes();
    sum.discarded += cpu.writer->discarded();
    sum.clock_errors += cpu.writer->clock_errors();
    const auto unplaced = cpu.writer->unplaced_discarded();
    for (std::size_t i = 0; i < unplaced.size(); ++i) {
      sum.unplaced[i] += unplaced[i];
    }
    if (cpu.writer->last_errno() != 0) {
      sum.last_errno = cpu.writer->last_errno();
    }
  }
  return sum;
}

// --- Opening -----------------------------------------------------------------

bool IsHardware(const EventSpec& event) {
  return event.type != PERF_TYPE_SOFTWARE && event.type != PERF_TYPE_TRACEPOINT;
}

// The events that open on at least one CPU. The others are named in `messages`.
absl::StatusOr<std::vector<EventSpec>> KeepAvailable(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus,
    std::vector<std::string>& messages) {
  std::vector<EventSpec> kept;
  for (std::size_t i = 0; i < options.events.size(); ++i) {
    perf_event_attr attr = ToPerfAttr(options.events[i]);
    attr.disabled = 1;
    int error = 0;
    bool opens = false;
    for (const std::uint32_t cpu : cpus) {
      const ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
      if (fd.is_open()) {
        opens = true;
        break;
      }
      error = errno;
    }
    if (opens) {
      kept.push_back(options.events[i]);
      continue;
    }
    if (error == EACCES || error == EPERM) {
      return absl::PermissionDeniedError(
          absl::StrFormat("Cannot open perf event %s: %s",
                          options.events[i].name, ExplainOpenError(error)));
    }
    if (i < options.optional_events_from) {
      messages.push_back(absl::StrFormat("%s is not counted: %s",
                                         options.events[i].name,
                                         ExplainOpenError(error)));
    }
  }
  return kept;
}

// Drops hardware events, last first, until a pinned group of them can be
// scheduled: a PMU has few counters, and a group that does not fit counts
// nothing.
absl::Status FitIntoPmu(PerfCpuGroupOptions group,
                        std::vector<EventSpec>& events,
                        std::vector<std::string>& messages) {
  group.ring_bytes = 0;  // one page
  group.fault_records = false;
  while (std::any_of(events.begin(), events.end(), IsHardware)) {
    group.events = events;
    absl::StatusOr<PerfCpuGroup> trial = PerfCpuGroup::Open(group);
    if (!trial.ok()) return trial.status();
    const absl::Status enabled = trial->Enable();
    if (!enabled.ok()) return enabled;
    const absl::StatusOr<GroupReading> reading = trial->Read();
    if (reading.ok() ||
        reading.status().code() != absl::StatusCode::kUnavailable) {
      return absl::OkStatus();
    }
    const auto last = std::find_if(events.rbegin(), events.rend(), IsHardware);
    messages.push_back(absl::StrFormat(
        "%s is not counted: the PMU has no free counter for it beside the "
        "other events; choose fewer with -e",
        last->name));
    events.erase(std::next(last).base());
  }
  return absl::OkStatus();
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
  auto events = KeepAvailable(options, *online, messages);
  if (!events.ok()) return events.status();
  group.cpu = online->front();
  const absl::Status fit = FitIntoPmu(group, *events, messages);
  if (!fit.ok()) return fit;

  group.events = *events;
  group.fault_records =
      options.fault_records &&
      std::any_of(events->begin(), events->end(), [](const EventSpec& event) {
        return event.is_page_faults();
      });
  group.ring_bytes = options.ring_bytes;
  std::vector<CpuState> cpus;
  std::uint64_t smallest_ring = options.ring_bytes;
  for (const std::uint32_t cpu : *online) {
    group.cpu = cpu;
    absl::StatusOr<PerfCpuGroup> opened = PerfCpuGroup::Open(group);
    if (!opened.ok()) {
      // It went offline since we read the list, or is being taken down.
      if (absl::IsNotFound(opened.status()) && online->size() > 1) {
        messages.push_back(absl::StrFormat("CPU %d is not recorded: %s", cpu,
                                           StatusText(opened.status())));
        continue;
      }
      return opened.status();
    }
    for (std::size_t i = 0; i < events->size(); ++i) {
      if (opened->missing()[i] != 0) {
        messages.push_back(absl::StrFormat(
            "%s is not counted on CPU %d: %s", (*events)[i].name, cpu,
            ExplainOpenError(opened->missing()[i])));
      }
    }
    smallest_ring = std::min(smallest_ring, opened->ring().data_bytes());
    cpus.emplace_back(*std::move(opened));
  }
  if (cpus.empty()) return absl::UnavailableError("No CPU can be recorded");
  if (smallest_ring < options.ring_bytes) {
    messages.push_back(absl::StrFormat(
        "Kernel rings are smaller than asked for: bytes=%d wanted=%d; raise "
        "kernel.perf_event_mlock_kb or `ulimit -l`, or record as root",
        smallest_ring, options.ring_bytes));
  }
  return std::make_unique<PerfKernelRecorder>(
      options, *std::move(events), std::move(cpus), std::move(messages));
}

}  // namespace countrace::runtime
