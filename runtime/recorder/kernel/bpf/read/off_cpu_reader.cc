#include "runtime/recorder/kernel/bpf/read/off_cpu_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/posix/errno_status.h"
#include "runtime/recorder/kernel/bpf/programs/off_cpu_stack.h"
#include "runtime/recorder/kernel/bpf/read/saved_registers.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"

namespace countrace::runtime {

static_assert(offsetof(countrace_off_cpu_stack, frames) ==
              COUNTRACE_OFF_CPU_HEAD_BYTES);

absl::StatusOr<std::unique_ptr<OffCpuReader>> OffCpuReader::Open(
    const BpfPrograms& programs, OffCpuRequest request, std::size_t event) {
  std::unique_ptr<OffCpuReader> reader(
      new OffCpuReader(programs.off_cpu_maps(), request, event));
  const auto take = [](void* context, void* data, std::size_t bytes) {
    const auto& self = *static_cast<const OffCpuReader*>(context);
    countrace_off_cpu_stack head;
    if (bytes < COUNTRACE_OFF_CPU_HEAD_BYTES) return 0;
    std::memcpy(&head, data, COUNTRACE_OFF_CPU_HEAD_BYTES);
    const auto body = std::span(static_cast<const std::byte*>(data), bytes)
                          .subspan(COUNTRACE_OFF_CPU_HEAD_BYTES);
    const std::size_t before =
        head.of_waker != 0 ? sizeof(head) - COUNTRACE_OFF_CPU_HEAD_BYTES
                           : std::size_t{head.kernel_bytes} + head.user_bytes;
    std::span<const std::byte> copy;
    if (before + head.copied_bytes <= body.size()) {
      copy = body.subspan(before, head.copied_bytes);
    }
    self.Add(head, body, copy, *self.streams_);
    return 0;
  };
  reader->ring_ =
      ring_buffer__new(reader->maps_.ring, take, reader.get(), nullptr);
  if (reader->ring_ == nullptr) {
    return base::ErrnoStatus(errno, "Cannot map the ring of stacks off CPU");
  }
  return reader;
}

OffCpuReader::~OffCpuReader() { ring_buffer__free(ring_); }

void OffCpuReader::Add(const countrace_off_cpu_stack& head,
                       std::span<const std::byte> frames,
                       std::span<const std::byte> copy,
                       std::vector<CpuStream>& streams) const {
  const std::size_t kernel = head.kernel_bytes;
  std::size_t user = head.user_bytes;
  if (head.slot >= streams.size() || head.of_waker > 1 ||
      kernel + user > frames.size()) {
    return;
  }
  std::vector<std::uint64_t> registers;
  if (head.registers != 0) {
    registers = ToSampledRegisters(frames.subspan(kernel, user));
    user = 0;
  }
  const std::size_t copied = registers.empty() ? 0 : copy.size();
  // A mark before each part.
  const std::size_t words = 2 + (kernel + user) / 8;
  const std::uint64_t time_ns = head.back_ns + (head.of_waker != 0 ? 0 : 1);
  std::uint64_t* out = streams[head.slot].batch.Add(
      time_ns, kSampleEntry,
      kSampleHeadWords + words + registers.size() + (copied + 7) / 8);
  *out++ = (head.tid & 0xffffffu) |
           static_cast<std::uint64_t>(head.pid & 0xffffffu) << 24 |
           static_cast<std::uint64_t>(event_ + head.of_waker) << 48;
  *out++ = head.back_ns - head.left_ns;
  SampleSizes sizes;
  sizes.chain = static_cast<std::uint16_t>(words);
  sizes.registers = static_cast<std::uint8_t>(registers.size());
  sizes.stack_is_cut = true;  // or its next page was not in memory
  sizes.stack_bytes = static_cast<std::uint32_t>(copied);
  *out++ = std::bit_cast<std::uint64_t>(sizes);
  *out++ = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
  std::memcpy(out, frames.data(), kernel);
  out += kernel / 8;
  *out++ = static_cast<std::uint64_t>(PERF_CONTEXT_USER);
  std::memcpy(out, frames.data() + kernel, user);
  out += user / 8;
  out = std::copy(registers.begin(), registers.end(), out);
  std::copy_n(copy.data(), copied, reinterpret_cast<std::byte*>(out));
}

void OffCpuReader::Drain(std::vector<CpuStream>& streams) {
  streams_ = &streams;
  ring_buffer__consume(ring_);
  streams_ = nullptr;
}

void OffCpuReader::TakeWaiting(std::uint64_t end_ns,
                               std::vector<CpuStream>& streams) {
  waiting_.resize(streams.size());
  std::vector<std::uint32_t> tids;
  std::uint32_t tid = 0;
  for (bool first = true;
       bpf_map_get_next_key(maps_.stacks, first ? nullptr : &tid, &tid) == 0;
       first = false) {
    tids.push_back(tid);
  }
  for (const std::uint32_t host : tids) {
    countrace_off_cpu_stack stack;
    if (bpf_map_lookup_elem(maps_.stacks, &host, &stack) != 0 ||
        stack.left_ns == 0 || stack.slot >= waiting_.size()) {
      continue;
    }
    OffCpuSums& sums = waiting_[stack.slot];
    stack.back_ns = std::max<std::uint64_t>(end_ns, stack.left_ns);
    const std::uint64_t off_ns = stack.back_ns - stack.left_ns;
    sums.off_ns += off_ns;
    if (off_ns < request_.least_ns) {
      ++sums.shorter;
      sums.shorter_ns += off_ns;
      continue;
    }
    std::vector<std::byte> copy;
    if (stack.copied_bytes != 0) {
      copy.resize(std::bit_ceil(request_.stack_bytes) +
                  COUNTRACE_COPY_PART_BYTES);
      const bool found =
          bpf_map_lookup_elem(maps_.copies, &host, copy.data()) == 0;
      copy.resize(found ? stack.copied_bytes : 0);
    }
    Add(stack, std::as_bytes(std::span(stack.frames)), copy, streams);
  }
}

std::vector<std::array<OffCpuSums, 2>> OffCpuReader::Sums(
    std::size_t cpus) const {
  std::vector<std::array<OffCpuSums, 2>> all(cpus);
  for (std::uint32_t slot = 0; slot < cpus; ++slot) {
    countrace_off_cpu_sums ended{};
    bpf_map_lookup_elem(maps_.sums, &slot, &ended);
    const OffCpuSums waiting =
        slot < waiting_.size() ? waiting_[slot] : OffCpuSums();
    all[slot][1] = {.off_ns = ended.waker_ns,
                    .lost = ended.waker_lost,
                    .lost_ns = ended.waker_lost_ns,
                    .idle_ns = ended.waker_idle_ns};
    all[slot][0] = {.off_ns = ended.off_ns + waiting.off_ns,
                    .shorter = ended.shorter + waiting.shorter,
                    .shorter_ns = ended.shorter_ns + waiting.shorter_ns,
                    .lost = ended.lost,
                    .lost_ns = ended.lost_ns,
                    .unseen = ended.unseen};
  }
  return all;
}

}  // namespace countrace::runtime
