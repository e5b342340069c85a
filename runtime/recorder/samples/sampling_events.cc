#include "runtime/recorder/samples/sampling_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/user_registers.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"
#include "runtime/recorder/samples/field_load.h"
#include "runtime/recorder/samples/sample_decoder.h"

namespace countrace::runtime {

using logformat::SampleData;

namespace {

constexpr std::uint64_t kRingBytes = 1 << 20;
// With copies of stacks: half a second of samples, within these limits.
constexpr std::uint64_t kLeastStackRing = 4 << 20, kMostStackRing = 64 << 20;
constexpr std::uint64_t kMostOfAllCpus = 256 << 20;
// A record of a mapping, as FollowMappings() requests it.
struct MappingHead {
  std::uint32_t pid, tid;
  std::uint64_t start, bytes, offset;
  // With PERF_RECORD_MISC_MMAP_BUILD_ID, else MappedFileNumber.
  std::uint8_t build_id_bytes, reserved[3];
  std::uint8_t build_id[20];
  std::uint32_t protection, flags;
};
static_assert(sizeof(MappingHead) == 64);
struct Trailer {
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
};

void SetAttributes(const SampleRequest& request, bool of_threads,
                   perf_event_attr& attr) {
  attr = ToPerfAttr(request.event);
  attr.disabled = 1;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CALLCHAIN;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.read_format = PERF_FORMAT_LOST;
  if (request.rate_hz != 0) {
    attr.freq = 1;
    attr.sample_freq = request.rate_hz;
    // With it and a period of our own the kernel would take a sample at each
    // event of software (perf_swevent_event()).
    attr.sample_type |= PERF_SAMPLE_PERIOD;
  } else {
    attr.sample_period = request.period;
  }
  attr.inherit = of_threads ? 1 : 0;
  if (request.stack_bytes != 0) {
    attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = base::UserRegisterMask();
    attr.sample_stack_user = request.stack_bytes;
    attr.exclude_callchain_user = 1;
  }
  if (request.data == SampleData::kNone) return;
  attr.sample_type |= PERF_SAMPLE_ADDR;
  if (request.data == SampleData::kSource) {
    attr.sample_type |= PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
  }
  // Says which memory is the thread's stack.
  if (request.stack_bytes == 0 && base::StackPointerMask() != 0) {
    attr.sample_type |= PERF_SAMPLE_REGS_USER;
    attr.sample_regs_user = base::StackPointerMask();
  }
}

// Records of mappings and of what processes do to them.
void FollowMappings(bool of_threads, bool of_data, perf_event_attr& attr) {
  attr.task = of_threads ? 1 : 0;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.mmap_data = of_data ? 1 : 0;
  attr.build_id = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
}

std::uint64_t RingBytes(const SampleRequest& request) {
  if (request.stack_bytes == 0) return kRingBytes;
  const auto cpus =
      static_cast<std::uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1l));
  const std::uint64_t most =
      std::clamp(kMostOfAllCpus / cpus, kLeastStackRing, kMostStackRing);
  if (request.rate_hz == 0) return most;
  return std::clamp(request.rate_hz * request.stack_bytes / 2, kLeastStackRing,
                    most);
}

// As near to the instruction as the PMU can: else it gives no addresses. Sets
// errno.
base::ScopedFd OpenPrecise(const SampleRequest& request, int tid, int cpu,
                           perf_event_attr& attr) {
  constexpr int kMostPrecise = 3;  // perf_event_attr.precise_ip
  for (int left = request.data == SampleData::kSource ? kMostPrecise : 0;;
       --left) {
    attr.precise_ip = static_cast<unsigned>(left) & kMostPrecise;
    base::ScopedFd fd(OpenPerfEvent(attr, tid, cpu, -1));
    if (fd.is_open() || left == 0) return fd;
  }
}

void AddMapping(std::span<const std::byte> body, bool has_build_id,
                bool is_data, RecordBatch& batch) {
  MappingHead head;
  Trailer trailer;
  if (!Load(body, 0, head) || body.size() < sizeof(head) + sizeof(trailer) ||
      !Load(body, body.size() - sizeof(trailer), trailer)) {
    return;
  }
  const auto text =
      body.subspan(sizeof(head), body.size() - sizeof(head) - sizeof(trailer));
  const std::size_t words = (text.size() + 8) / 8;  // room for a NUL
  std::uint64_t* const out =
      batch.Add(trailer.time_ns, kMappingEntry, kMappingHeadWords + words);
  out[0] = head.pid;
  out[1] = head.start;
  out[2] = head.bytes;
  out[3] = head.offset;
  std::array<std::uint8_t, 24> id{};
  if (has_build_id) {
    std::copy(std::begin(head.build_id), std::end(head.build_id), id.begin());
    id[23] = std::min<std::uint8_t>(head.build_id_bytes, 20);
  } else {
    std::memcpy(id.data(), body.data() + offsetof(MappingHead, build_id_bytes),
                kFileNumberBytes);
  }
  id[kMappingIsCode] = is_data ? 0 : 1;
  std::memcpy(out + 4, id.data(), id.size());
  std::fill(out + kMappingHeadWords, out + kMappingHeadWords + words, 0);
  std::memcpy(out + kMappingHeadWords, text.data(), text.size());
}

// A new name, or a new program. With BPF or the other perf rings, they record
// processes themselves: only the program is of interest.
void AddName(std::span<const std::byte> body, bool new_program, bool of_threads,
             RecordBatch& batch) {
  logformat::CommRecord record{};
  std::array<std::int32_t, 2> ids;
  Trailer trailer;
  if (!Load(body, 0, ids) || body.size() < sizeof(ids) + sizeof(trailer) ||
      !Load(body, body.size() - sizeof(trailer), trailer)) {
    return;
  }
  if (new_program) {
    *batch.Add(trailer.time_ns, kNewProgramEntry, 1) =
        static_cast<std::uint64_t>(ids[0]);
  }
  if (!of_threads) return;
  record.pid = ids[0];
  record.tid = ids[1];
  const auto name =
      body.subspan(sizeof(ids), body.size() - sizeof(ids) - sizeof(trailer));
  std::memcpy(record.comm, name.data(),
              strnlen(reinterpret_cast<const char*>(name.data()),
                      std::min(name.size(), sizeof(record.comm) - 1)));
  batch.AddStruct(
      trailer.time_ns,
      new_program ? logformat::CpuEvent::kExec : logformat::CpuEvent::kComm,
      record);
}

void AddTask(std::span<const std::byte> body, bool fork, RecordBatch& batch) {
  std::array<std::int32_t, 4> ids;  // pid, parent's, tid, parent's
  std::uint64_t time_ns;
  if (!Load(body, 0, ids) || !Load(body, sizeof(ids), time_ns)) return;
  logformat::TaskRecord record{};
  record.pid = ids[0];
  record.tid = ids[2];
  record.parent_pid = ids[1];
  record.parent_tid = ids[3];
  batch.AddStruct(
      time_ns, fork ? logformat::CpuEvent::kFork : logformat::CpuEvent::kExit,
      record);
}

}  // namespace

absl::StatusOr<SamplingEvents::Event> SamplingEvents::OpenEvent(
    const SampleRequest& request, std::uint32_t cpu, Follows follows,
    const std::vector<std::int32_t>& threads) {
  perf_event_attr attr{};
  SetAttributes(request, !threads.empty(), attr);
  if (follows != Follows::kNone) {
    FollowMappings(!threads.empty(), follows == Follows::kCodeAndData, attr);
  }
  const int number = static_cast<int>(cpu);
  const int first = threads.empty() ? -1 : threads.front();
  base::ScopedFd fd = OpenPrecise(request, first, number, attr);
  if (!fd.is_open() && errno == EINVAL) {
    attr.read_format = 0;  // kernels before 6.0
    fd = OpenPrecise(request, first, number, attr);
  }
  if (!fd.is_open() && errno == EINVAL && attr.build_id != 0) {
    attr.build_id = 0;  // kernels before 5.12
    fd = OpenPrecise(request, first, number, attr);
  }
  if (!fd.is_open()) {
    const int error = errno;
    if (error == EINVAL && request.rate_hz != 0) {
      const absl::Status rate =
          CheckSampleRate(request, MostSamplesPerSecond());
      if (!rate.ok()) return rate;
    }
    return absl::Status(
        base::ErrnoStatus(error, "").code(),
        absl::StrFormat("Cannot sample %s on CPU %d: %s", request.event.name,
                        cpu, ExplainOpenError(error)));
  }
  auto ring = PerfRing::Map(fd.get(), RingBytes(request));
  if (!ring.ok()) return ring.status();
  Event event{{},
              *std::move(ring),
              {},
              0,
              request.period,
              !threads.empty(),
              request.stack_bytes != 0,
              request.data};
  event.fds.push_back(std::move(fd));
  for (std::size_t i = 1; i < threads.size(); ++i) {
    base::ScopedFd more(OpenPerfEvent(attr, threads[i], number, -1));
    if (!more.is_open()) continue;  // it has ended
    if (ioctl(more.get(), PERF_EVENT_IOC_SET_OUTPUT, event.fds[0].get()) != 0) {
      return base::ErrnoStatus(errno, "Cannot share the ring of samples");
    }
    event.fds.push_back(std::move(more));
  }
  return event;
}

absl::Status TrySampling(const SampleRequest& request) {
  perf_event_attr attr{};
  SetAttributes(request, /*of_threads=*/false, attr);
  attr.exclude_kernel = 1;  // without privilege, too
  const base::ScopedFd fd(OpenPerfEvent(attr, 0, -1, -1));
  if (fd.is_open() || (errno != ENOENT && errno != EOPNOTSUPP &&
                       errno != ENODEV && errno != ENXIO)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("--sample: %s cannot be sampled: %s; `countrace list "
                      "events` shows what this machine has",
                      request.event.name, ExplainOpenError(errno)));
}

absl::StatusOr<SamplingEvents> SamplingEvents::Open(
    const std::vector<SampleRequest>& requests,
    const std::vector<std::uint32_t>& cpus,
    const std::vector<std::int32_t>& threads) {
  SamplingEvents out;
  out.events_ = requests.size();
  const bool data = std::any_of(requests.begin(), requests.end(),
                                [](const SampleRequest& request) {
                                  return request.data != SampleData::kNone;
                                });
  for (const std::uint32_t cpu : cpus) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Follows follows = i != 0 ? Follows::kNone
                              : data ? Follows::kCodeAndData
                                     : Follows::kCode;
      auto event = OpenEvent(requests[i], cpu, follows, threads);
      if (!event.ok()) return event.status();
      out.all_.push_back(*std::move(event));
    }
  }
  return out;
}

std::uint64_t SamplingEvents::stack_ring_bytes(std::size_t cpu) const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < events_; ++i) {
    const Event& event = all_[cpu * events_ + i];
    if (event.has_stacks) bytes += event.ring.data_bytes();
  }
  return bytes;
}

absl::Status SamplingEvents::Enable() {
  for (const Event& event : all_) {
    for (const base::ScopedFd& fd : event.fds) {
      if (ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
        return base::ErrnoStatus(errno, "Cannot start to sample");
      }
    }
  }
  return absl::OkStatus();
}

std::vector<int> SamplingEvents::Descriptors() const {
  std::vector<int> all;
  for (const Event& event : all_) all.push_back(event.fds.front().get());
  return all;
}

void SamplingEvents::Disable() {
  for (Event& event : all_) {
    event.totals.counted = 0;
    std::uint64_t lost = 0;
    for (const base::ScopedFd& fd : event.fds) {
      ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
      // The count, and with PERF_FORMAT_LOST what found no room.
      std::array<std::uint64_t, 2> values{};
      if (read(fd.get(), values.data(), sizeof(values)) <= 0) continue;
      event.totals.counted += values[0];
      lost += values[1];
    }
    // PERF_RECORD_LOST comes with the next record that finds room: never, where
    // the CPU had no other one.
    event.totals.lost = std::max(event.totals.lost, lost);
  }
}

void SamplingEvents::Decode(Event& event, std::uint16_t index,
                            const perf_event_header* header,
                            RecordBatch& batch) const {
  const auto body =
      std::as_bytes(std::span(reinterpret_cast<const char*>(header + 1),
                              header->size - sizeof(perf_event_header)));
  switch (header->type) {
    case PERF_RECORD_SAMPLE:
      if (leave_out_) {
        ++event.totals.left_out;
        return;
      }
      event.totals.idle +=
          AddSample({index, event.period, event.has_stacks, event.data}, body,
                    static_cast<std::uint32_t>(getpid()), batch);
      return;
    case PERF_RECORD_MMAP2:
      AddMapping(body, (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0,
                 (header->misc & PERF_RECORD_MISC_MMAP_DATA) != 0, batch);
      return;
    case PERF_RECORD_COMM:
      AddName(body, (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0,
              event.of_threads, batch);
      return;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      // Come with mappings, wanted or not.
      if (event.of_threads) {
        AddTask(body, header->type == PERF_RECORD_FORK, batch);
      }
      return;
    case PERF_RECORD_LOST: {
      std::uint64_t lost;  // behind an id
      if (!Load(body, 8, lost)) return;
      event.lost_records += lost;
      event.totals.lost = std::max(event.totals.lost, event.lost_records);
      return;
    }
    case PERF_RECORD_THROTTLE:
      ++event.totals.throttled;
      return;
    default:
      return;
  }
}

void SamplingEvents::Drain(std::size_t cpu, RecordBatch& batch) {
  for (std::size_t i = 0; i < events_; ++i) {
    Event& event = all_[cpu * events_ + i];
    const std::uint64_t head = event.ring.Head();
    while (const perf_event_header* header = event.ring.Next(head)) {
      Decode(event, static_cast<std::uint16_t>(i), header, batch);
    }
    event.ring.Release();
  }
}

}  // namespace countrace::runtime
