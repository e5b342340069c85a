#include "runtime/recorder/samples/sampling_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/code/user_registers.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/samples/sample_entries.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kRingBytes = 1 << 20;
// With copies of stacks: half a second of samples, within these limits.
constexpr std::uint64_t kLeastStackRing = 4 << 20, kMostStackRing = 64 << 20;
constexpr std::uint64_t kMostOfAllCpus = 256 << 20;
// A chain has 127 frames, and marks between kernel and user.
constexpr std::uint64_t kMostFrames = 1024;

// The records of a ring, as SetAttributes() requests them. Behind the head of a
// sample: the period, if the kernel chooses it, the number of frames, these.
struct SampleHead {
  std::uint64_t ip;
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
};
struct MappingHead {
  std::uint32_t pid, tid;
  std::uint64_t start, bytes, offset;
  std::uint8_t build_id_bytes, reserved[3];
  std::uint8_t build_id[20];  // with PERF_RECORD_MISC_MMAP_BUILD_ID
  std::uint32_t protection, flags;
};
static_assert(sizeof(MappingHead) == 64);
struct Trailer {
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
};

void SetAttributes(const SampleRequest& request, bool follows, bool of_threads,
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
  if (!follows) return;
  attr.task = of_threads ? 1 : 0;
  attr.mmap = 1;
  attr.mmap2 = 1;
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

template <typename T>
bool Load(std::span<const std::byte> bytes, std::size_t at, T& out) {
  if (bytes.size() < at + sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

// What lies behind the chain of a sample with a copy of its stack: registers
// (nothing of a kernel thread or a 32-bit program), then the stack.
struct CopiedStack {
  std::span<const std::byte> registers, stack;
  bool is_cut = false;
};
CopiedStack FindStack(std::span<const std::byte> rest) {
  const auto registers_bytes =
      static_cast<std::size_t>(std::popcount(base::UserRegisterMask())) * 8;
  std::uint64_t abi = 0, room = 0, bytes = 0;
  if (!Load(rest, 0, abi) || abi != PERF_SAMPLE_REGS_ABI_64) return {};
  const std::size_t behind = sizeof(abi) + registers_bytes;
  if (!Load(rest, behind, room)) return {};
  CopiedStack out{rest.subspan(sizeof(abi), registers_bytes), {}, false};
  const std::size_t at = behind + sizeof(room);
  if (room == 0 || room > rest.size() || !Load(rest, at + room, bytes)) {
    return out;
  }
  out.stack = rest.subspan(at, std::min(room, bytes));
  out.is_cut = bytes >= room;
  return out;
}

void AddMapping(std::span<const std::byte> body, bool has_build_id,
                RecordBatch& batch) {
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
  }
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
    const SampleRequest& request, std::uint32_t cpu, bool follows,
    const std::vector<std::int32_t>& threads) {
  perf_event_attr attr{};
  SetAttributes(request, follows, !threads.empty(), attr);
  const int number = static_cast<int>(cpu);
  const int first = threads.empty() ? -1 : threads.front();
  base::ScopedFd fd(OpenPerfEvent(attr, first, number, -1));
  if (!fd.is_open() && errno == EINVAL) {
    attr.read_format = 0;  // kernels before 6.0
    fd = base::ScopedFd(OpenPerfEvent(attr, first, number, -1));
  }
  if (!fd.is_open() && errno == EINVAL && attr.build_id != 0) {
    attr.build_id = 0;  // kernels before 5.12
    fd = base::ScopedFd(OpenPerfEvent(attr, first, number, -1));
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
              request.stack_bytes != 0};
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
  SetAttributes(request, /*follow=*/false, /*of_threads=*/false, attr);
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
  for (const std::uint32_t cpu : cpus) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto event = OpenEvent(requests[i], cpu, /*follows=*/i == 0, threads);
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
                            RecordBatch& batch) {
  const auto body =
      std::as_bytes(std::span(reinterpret_cast<const char*>(header + 1),
                              header->size - sizeof(perf_event_header)));
  switch (header->type) {
    case PERF_RECORD_SAMPLE: {
      SampleHead head;
      if (!Load(body, 0, head)) return;
      std::size_t at = sizeof(head);
      std::uint64_t period = event.period;
      if (period == 0) {
        if (!Load(body, at, period)) return;
        at += sizeof(period);
      }
      std::uint64_t frames = 0;
      if (!Load(body, at, frames)) return;
      at += sizeof(frames);
      frames = std::min<std::uint64_t>(
          {frames, (body.size() - at) / 8, kMostFrames});
      if (head.tid == 0) {  // the idle thread, or one of another namespace
        event.totals.idle += period;
        return;
      }
      CopiedStack copy;
      // The recorder's own is not unwound: what that takes would be sampled.
      if (event.has_stacks && head.pid != static_cast<unsigned>(getpid())) {
        copy = FindStack(body.subspan(at + frames * 8));
      }
      SampleSizes sizes;
      sizes.registers = static_cast<std::uint8_t>(copy.registers.size() / 8);
      sizes.stack_is_cut = copy.is_cut;
      sizes.stack_bytes = static_cast<std::uint32_t>(copy.stack.size());
      // A chain may be empty (a thread that ends): the address alone.
      sizes.chain = static_cast<std::uint16_t>(
          frames == 0 && sizes.registers == 0 ? 1 : frames);
      std::uint64_t* const out =
          batch.Add(head.time_ns, kSampleEntry,
                    kSampleHeadWords + sizes.chain + sizes.registers +
                        (copy.stack.size() + 7) / 8);
      out[0] = (head.tid & 0xffffffu) |
               (static_cast<std::uint64_t>(head.pid & 0xffffffu) << 24) |
               (static_cast<std::uint64_t>(index) << 48);
      out[1] = period;
      out[2] = std::bit_cast<std::uint64_t>(sizes);
      std::uint64_t* const chain = out + kSampleHeadWords;
      if (sizes.chain != 0) chain[0] = head.ip;
      std::memcpy(chain, body.data() + at, frames * 8);
      std::uint64_t* const registers = chain + sizes.chain;
      std::copy_n(copy.registers.data(), copy.registers.size(),
                  reinterpret_cast<std::byte*>(registers));
      std::copy_n(copy.stack.data(), copy.stack.size(),
                  reinterpret_cast<std::byte*>(registers + sizes.registers));
      return;
    }
    case PERF_RECORD_MMAP2:
      AddMapping(body, (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0,
                 batch);
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
