#include "runtime/recorder/samples/sample_decoder.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/code/user_registers.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"
#include "runtime/recorder/samples/field_load.h"

namespace countrace::runtime {

using logformat::SampleData;

namespace {

// A chain has 127 frames, and marks between kernel and user.
constexpr std::uint64_t kMostFrames = 1024;

// A sample has this, the data address, the period, if the kernel chooses it,
// the number of frames, these, registers and stack, weight and source of the
// data.
struct SampleHead {
  std::uint64_t ip;
  std::uint32_t pid, tid;
  std::uint64_t time_ns;
};
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

// Behind the chain: what SetAttributes() requests. `copy` has the registers, if
// the stack is copied.
SampleDataWords FindData(std::span<const std::byte> rest,
                         const CopiedStack* copy, bool has_source) {
  SampleDataWords data{};
  std::uint64_t abi = 0;
  if (copy == nullptr) {
    if (base::StackPointerMask() != 0 && Load(rest, 0, abi) &&
        abi != PERF_SAMPLE_REGS_ABI_NONE) {
      Load(rest, sizeof(abi), data.stack_pointer);
    }
  } else if (!copy->registers.empty()) {
    std::array<std::uint64_t, base::UserRegisters::kMost> values{};
    const std::size_t bytes = std::min(copy->registers.size(), sizeof(values));
    std::memcpy(values.data(), copy->registers.data(), bytes);
    data.stack_pointer =
        base::ToUserRegisters({values.data(), bytes / 8}).stack_pointer;
  }
  if (has_source && rest.size() >= 16) {
    Load(rest, rest.size() - 16, data.weight);
    Load(rest, rest.size() - 8, data.source);
  }
  return data;
}

}  // namespace

std::uint64_t AddSample(const SampleFormat& format,
                        std::span<const std::byte> body, std::uint32_t own_pid,
                        RecordBatch& batch) {
  SampleHead head;
  if (!Load(body, 0, head)) return 0;
  std::size_t at = sizeof(head);
  const bool has_data = format.data != SampleData::kNone;
  std::uint64_t address = 0, frames = 0, period = format.period;
  for (const auto& [has, field] :
       {std::pair{has_data, &address}, std::pair{period == 0, &period},
        std::pair{true, &frames}}) {
    if (!has) continue;
    if (!Load(body, at, *field)) return 0;
    at += sizeof(*field);
  }
  frames =
      std::min<std::uint64_t>({frames, (body.size() - at) / 8, kMostFrames});
  // The idle thread, or one of another namespace.
  if (head.tid == 0) return period;
  const std::span<const std::byte> rest = body.subspan(at + frames * 8);
  CopiedStack copy;
  // The recorder's own is not unwound: what that takes would be sampled.
  if (format.has_stacks && head.pid != own_pid) copy = FindStack(rest);
  SampleDataWords data{};
  if (has_data) {
    data = FindData(rest, format.has_stacks ? &copy : nullptr,
                    format.data == SampleData::kSource);
    data.address = address;
  }
  SampleSizes sizes;
  sizes.data = has_data ? kSampleDataWords : 0;
  sizes.registers = static_cast<std::uint8_t>(copy.registers.size() / 8);
  sizes.stack_is_cut = copy.is_cut;
  sizes.stack_bytes = static_cast<std::uint32_t>(copy.stack.size());
  // A chain may be empty (a thread that ends): the address alone.
  sizes.chain = static_cast<std::uint16_t>(
      frames == 0 && sizes.registers == 0 ? 1 : frames);
  const std::size_t stack_words = (copy.stack.size() + 7) / 8;
  std::uint64_t* const out =
      batch.Add(head.time_ns, kSampleEntry,
                kSampleHeadWords + sizes.chain + sizes.registers + stack_words +
                    sizes.data);
  out[0] = (head.tid & 0xffffffu) |
           (static_cast<std::uint64_t>(head.pid & 0xffffffu) << 24) |
           (static_cast<std::uint64_t>(format.event) << 48);
  out[1] = period;
  out[2] = std::bit_cast<std::uint64_t>(sizes);
  std::uint64_t* const chain = out + kSampleHeadWords;
  if (sizes.chain != 0) chain[0] = head.ip;
  std::memcpy(chain, body.data() + at, frames * 8);
  std::uint64_t* const registers = chain + sizes.chain;
  std::copy_n(copy.registers.data(), copy.registers.size(),
              reinterpret_cast<std::byte*>(registers));
  std::uint64_t* const stack = registers + sizes.registers;
  std::copy_n(copy.stack.data(), copy.stack.size(),
              reinterpret_cast<std::byte*>(stack));
  std::memcpy(stack + stack_words, &data, sizes.data * sizeof(std::uint64_t));
  return 0;
}

}  // namespace countrace::runtime
