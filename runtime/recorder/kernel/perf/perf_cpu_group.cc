#include "runtime/recorder/kernel/perf/perf_cpu_group.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/events/counter_trial.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

// Attributes that all our events share.
void SetRecordAttributes(std::uint64_t ring_bytes, perf_event_attr& attr) {
  attr.size = sizeof(attr);
  attr.sample_period = 1;
  attr.disabled = 1;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 2);
}

absl::Status OpenError(int error, const std::string& event, std::uint32_t cpu) {
  return base::ErrnoStatus(
      error, absl::StrFormat("Cannot open perf event %s: cpu=%d: %s", event,
                             cpu, ExplainOpenError(error)));
}

// Errors that mean "this event is missing", not "no event works".
bool IsEventMissing(int error) {
  return error == ENOENT || error == EOPNOTSUPP || error == EINVAL ||
         error == EBUSY || error == ENOSPC || error == ENXIO || error == ENODEV;
}

// Records of page faults, in the ring of `leader`.
absl::StatusOr<base::ScopedFd> OpenFaults(const PerfCpuGroupOptions& options,
                                          int leader) {
  perf_event_attr fault{};
  SetRecordAttributes(options.ring_bytes, fault);
  fault.type = PERF_TYPE_SOFTWARE;
  fault.config = PERF_COUNT_SW_PAGE_FAULTS;
  fault.sample_type = kFaultSampleType;
  fault.exclude_user = options.fault_mode.exclude_user;
  fault.exclude_kernel = options.fault_mode.exclude_kernel;
  base::ScopedFd faults(
      OpenPerfEvent(fault, -1, static_cast<int>(options.cpu), -1));
  if (!faults.is_open()) return OpenError(errno, "page-faults", options.cpu);
  if (ioctl(faults.get(), PERF_EVENT_IOC_SET_OUTPUT, leader) != 0) {
    return base::ErrnoStatus(errno,
                             absl::StrFormat("Cannot share the perf ring of "
                                             "page faults: cpu=%d",
                                             options.cpu));
  }
  return faults;
}

// 0: the kernel gives none; its records are left out, and said.
std::uint64_t IdOf(const base::ScopedFd& event) {
  std::uint64_t id = 0;
  return ioctl(event.get(), PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

// Closed: errno says why.
base::ScopedFd OpenKick(const PerfCpuGroupOptions& options) {
  perf_event_attr kick{};
  kick.size = sizeof(kick);
  kick.type = PERF_TYPE_TRACEPOINT;
  kick.config = options.switch_tracepoint;
  kick.pinned = 1;
  kick.disabled = 1;
  return base::ScopedFd(
      OpenPerfEvent(kick, -1, static_cast<int>(options.cpu), -1));
}

}  // namespace

absl::StatusOr<PerfCpuGroup> PerfCpuGroup::Open(
    const PerfCpuGroupOptions& options) {
  const int cpu = static_cast<int>(options.cpu);
  perf_event_attr attr{};
  SetRecordAttributes(options.ring_bytes, attr);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = options.switch_tracepoint;
  attr.sample_type = kSwitchSampleType;
  const logformat::EventSets sets = options.choice.sets(/*running_slot=*/true);
  attr.read_format = ReadFormat(sets.rotates());
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  // Pinned: a group that the kernel multiplexed would miss switches silently.
  attr.pinned = 1;
  base::ScopedFd leader(OpenPerfEvent(attr, -1, cpu, -1));
  if (!leader.is_open()) {
    return OpenError(errno, "sched:sched_switch", options.cpu);
  }

  std::vector<base::ScopedFd> members;
  std::vector<std::size_t> slots;
  const std::vector<EventSpec>& events = options.choice.events;
  std::vector<Member> kinds;
  std::vector<int> missing(events.size(), 0);
  std::uint32_t present = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::optional<std::size_t> set = sets.SetOf(i);
    perf_event_attr member = ToPerfAttr(events[i]);
    // The PMU reserves counters only for members that are on.
    member.disabled = set.value_or(0) != 0 ? 1 : 0;
    member.read_format = ReadFormat(sets.rotates());
    // All events of a group need the same clock, or the kernel refuses it
    // (EINVAL).
    member.use_clockid = 1;
    member.clockid = CLOCK_MONOTONIC;
    base::ScopedFd fd(OpenPerfEvent(events[i], member, -1, cpu, leader.get()));
    if (!fd.is_open()) {
      if (!IsEventMissing(errno)) {
        return OpenError(errno, events[i].name, options.cpu);
      }
      if (events[i].IsOn(options.cpu)) missing[i] = errno;
      continue;
    }
    kinds.push_back({.event = events[i], .set = set});
    members.push_back(std::move(fd));
    slots.push_back(i);
    if (!sets.rotates()) present |= 1u << i;
  }

  absl::StatusOr<PerfRing> ring =
      PerfRing::Map(leader.get(), options.ring_bytes);
  if (!ring.ok()) return ring.status();

  base::ScopedFd faults;
  if (options.fault_records) {
    auto opened = OpenFaults(options, leader.get());
    if (!opened.ok()) return opened.status();
    faults = *std::move(opened);
  }
  PerfDecoder decoder(options.format, slots, sets);
  if (faults.is_open()) decoder.SetFaultId(IdOf(faults));
  PerfCpuGroup group(options.cpu, present, std::move(leader),
                     std::move(members), std::move(faults), *std::move(ring),
                     std::move(decoder), std::move(missing));
  group.kinds_ = std::move(kinds);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].is_hardware()) group.hardware_.set(i);
  }
  if (sets.rotates()) {
    group.kick_ = OpenKick(options);
    if (!group.kick_.is_open()) {
      return OpenError(errno, "sched:sched_switch", options.cpu);
    }
  }
  return group;
}

PerfCpuGroup::PerfCpuGroup(std::uint32_t cpu, std::uint32_t present,
                           base::ScopedFd leader,
                           std::vector<base::ScopedFd> members,
                           base::ScopedFd faults, PerfRing ring,
                           PerfDecoder decoder, std::vector<int> missing)
    : cpu_(cpu),
      present_(present),
      leader_(std::move(leader)),
      members_(std::move(members)),
      faults_(std::move(faults)),
      ring_(std::move(ring)),
      decoder_(std::move(decoder)),
      missing_(std::move(missing)) {}

absl::Status PerfCpuGroup::Enable(std::uint32_t set) {
  if (set != set_) {
    absl::Status status = Switch(set_, false);
    status.Update(Switch(set, true));
    if (!status.ok()) return status;
    set_ = set;
  }
  // The faults first: no fault after the first reading is missed.
  if (faults_.is_open() &&
      ioctl(faults_.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return base::ErrnoStatus(errno,
                             absl::StrFormat("Cannot enable page-faults: "
                                             "cpu=%d",
                                             cpu_));
  }
  // Only the leader: members that are on follow it, and those of other event
  // sets must stay off.
  if (ioctl(leader_.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return base::ErrnoStatus(
        errno, absl::StrFormat("Cannot enable the perf group: cpu=%d", cpu_));
  }
  decoder_.BeginSets(set, MonotonicNs());
  return absl::OkStatus();
}

absl::Status PerfCpuGroup::Switch(std::uint32_t set, bool on) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (kinds_[i].set != set) continue;
    if (on && kinds_[i].event.is_hardware() && refused_since_ns_ != 0) continue;
    if (ioctl(members_[i].get(),
              on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) != 0) {
      return base::ErrnoStatus(
          errno,
          absl::StrFormat("Cannot switch event set %d: cpu=%d", set, cpu_));
    }
  }
  return absl::OkStatus();
}

void PerfCpuGroup::AddCounters(const GroupReading& reading,
                               logformat::CountersReason reason,
                               RecordBatch& batch) const {
  std::uint64_t* body =
      batch.Add(reading.time_ns,
                static_cast<std::uint16_t>(logformat::CpuEvent::kCounters),
                1 + reading.counters.size());
  // Earlier records give the running thread.
  body[0] = static_cast<std::uint64_t>(reason) |
            std::uint64_t{logformat::kRunningTidUnknown} << 32;
  std::copy(reading.counters.begin(), reading.counters.end(), body + 1);
}

absl::Status PerfCpuGroup::DumpForSnapshot(RecordBatch& batch) {
  absl::StatusOr<GroupReading> reading = Read();
  if (!reading.ok()) return reading.status();
  Drain(reading->ring_head, batch, reading->time_ns);
  AddCounters(*reading, logformat::CountersReason::kSnapshot, batch);
  return absl::OkStatus();
}

absl::Status PerfCpuGroup::ChangeSet(std::uint32_t to, RecordBatch& batch) {
  absl::StatusOr<GroupReading> last = Read();
  if (!last.ok()) return last.status();
  Drain(last->ring_head, batch, last->time_ns);
  AddCounters(*last, logformat::CountersReason::kSetEnd, batch);
  absl::Status status = Switch(set_, false);
  status.Update(Switch(to, true));
  // Since Linux 6.2 a member on another PMU than its leader's stays off, though
  // enabled, until the leader's events are rescheduled. Enabling another one of
  // them does that.
  if (ioctl(kick_.get(), PERF_EVENT_IOC_ENABLE, 0) != 0 ||
      ioctl(kick_.get(), PERF_EVENT_IOC_DISABLE, 0) != 0) {
    status.Update(base::ErrnoStatus(
        errno,
        absl::StrFormat("Cannot schedule event set %d: cpu=%d", to, cpu_)));
  }
  set_ = to;
  std::vector<std::uint64_t> group;
  absl::StatusOr<GroupReading> first = ReadGroup(group);
  if (first.ok()) {
    decoder_.ChangeSet(to, last->clock, first->time_ns, first->clock);
  } else if (absl::IsUnavailable(first.status())) {
    // A group that cannot be scheduled is off as a whole, until it is enabled
    // again.
    status.Update(first.status());
    status.Update(Switch(to, false));
    ioctl(leader_.get(), PERF_EVENT_IOC_ENABLE, 0);
    decoder_.ChangeSet(to, last->clock, ~std::uint64_t{0}, 0);
    first = ReadGroup(group);
  }
  if (!first.ok()) return first.status();
  decoder_.DecodeGroup(group, first->counters.data(), first->time_ns);
  Drain(first->ring_head, batch, first->time_ns);
  AddCounters(*first, logformat::CountersReason::kSetBegin, batch);
  return status;
}

absl::StatusOr<GroupReading> PerfCpuGroup::Read() {
  std::vector<std::uint64_t> group;
  absl::StatusOr<GroupReading> reading = ReadGroup(group);
  if (reading.ok()) {
    decoder_.DecodeGroup(group, reading->counters.data(), reading->time_ns);
  }
  return reading;
}

absl::StatusOr<GroupReading> PerfCpuGroup::ReadGroup(
    std::vector<std::uint64_t>& group) {
  group.resize(decoder_.group_words());
  GroupReading reading;
  reading.counters.resize(decoder_.dump_words());
  // A switch or fault between the two reads of the head changes it: try again.
  // On its own CPU the reading thread only loses if it is preempted, so a few
  // tries are enough; a remote CPU may need more.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t head = ring_.Head();
    reading.time_ns = MonotonicNs();
    const ssize_t got = read(leader_.get(), group.data(), group.size() * 8);
    if (got < 0) {
      return base::ErrnoStatus(
          errno, absl::StrFormat("Cannot read the perf group: cpu=%d", cpu_));
    }
    if (got == 0) {
      return absl::UnavailableError(absl::StrFormat(
          "The PMU of CPU %d cannot count all chosen events at once: events=%d",
          cpu_, members_.size()));
    }
    reading.ring_head = head;
    if (ring_.Head() != head) continue;
    if (group[0] != members_.size() + 1) break;
    reading.clock = decoder_.GroupClock(group);
    return reading;
  }
  return absl::UnavailableError(absl::StrFormat(
      "Cannot read the perf group between two switches: cpu=%d tries=%d", cpu_,
      kTries));
}

void PerfCpuGroup::SwitchHardware(bool on) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!IsHardwareInForce(kinds_[i])) continue;
    ioctl(members_[i].get(),
          on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

absl::Status PerfCpuGroup::FindRefusal(RecordBatch& batch) {
  if (hardware_.none()) return absl::OkStatus();
  if (refused_since_ns_ != 0) {
    // Tried with separate events, so that this group never fails for it.
    const TrialPlace place{.tid = -1, .cpu = static_cast<int>(cpu_)};
    std::vector<EventSpec> wanted;
    for (const Member& member : kinds_) {
      if (IsHardwareInForce(member)) wanted.push_back(member.event);
    }
    if (!TryTogether(wanted, place).counts) return absl::OkStatus();
    const std::uint64_t now = MonotonicNs();
    refused_ns_ += now - std::exchange(refused_since_ns_, 0);
    SwitchHardware(true);
    decoder_.SetRefused({}, MonotonicNs(), batch);
  }
  std::vector<std::uint64_t> group(decoder_.group_words());
  const ssize_t got = read(leader_.get(), group.data(), group.size() * 8);
  if (got != 0) return absl::OkStatus();
  refused_since_ns_ = MonotonicNs();
  ++refusals_;
  SwitchHardware(false);
  // The number of switches meanwhile is unknown.
  *batch.Add(refused_since_ns_, kLossEntry, 1) = 1;
  decoder_.SetRefused(hardware_, refused_since_ns_, batch);
  if (ioctl(leader_.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
    return base::ErrnoStatus(
        errno,
        absl::StrFormat("Cannot enable the perf group again: cpu=%d", cpu_));
  }
  return absl::OkStatus();
}

std::uint64_t PerfCpuGroup::refused_ns() const {
  return refused_ns_ +
         (refused_since_ns_ == 0 ? 0 : MonotonicNs() - refused_since_ns_);
}

absl::Status PerfCpuGroup::WatchSwitchIns() {
  if (switch_ins_) return absl::OkStatus();
  const std::uint64_t bytes = ring_.data_bytes();
  perf_event_attr attr{};
  SetRecordAttributes(bytes, attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_period = 0;
  attr.sample_type = kSwitchInSampleType;
  attr.context_switch = 1;
  attr.disabled = 0;
  base::ScopedFd event(OpenPerfEvent(attr, -1, static_cast<int>(cpu_), -1));
  if (!event.is_open()) return OpenError(errno, "switches", cpu_);
  absl::StatusOr<PerfRing> ring = PerfRing::Map(event.get(), bytes);
  if (!ring.ok()) return ring.status();
  switch_ins_ = {std::move(event), *std::move(ring)};
  return absl::OkStatus();
}

std::uint64_t PerfCpuGroup::Drain(std::uint64_t limit, RecordBatch& batch,
                                  std::uint64_t until_ns) {
  if (switch_ins_) {
    PerfRing& ring = switch_ins_->ring;
    const std::uint64_t head = ring.Head();
    while (const perf_event_header* header = ring.Next(head)) {
      decoder_.DecodeSwitchIn(*header, until_ns, batch);
    }
    ring.Release();
  }
  const std::size_t first = switch_ins_ ? 0 : batch.size();
  while (const perf_event_header* header = ring_.Next(limit)) {
    decoder_.Decode(*header, batch);
  }
  ring_.Release();
  return batch.SortFrom(first);
}

}  // namespace countrace::runtime
