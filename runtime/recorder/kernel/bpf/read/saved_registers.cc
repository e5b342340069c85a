#include "runtime/recorder/kernel/bpf/read/saved_registers.h"

#include <array>
#include <cstring>

#include "runtime/recorder/kernel/bpf/programs/off_cpu_stack.h"

namespace countrace::runtime {

#if COUNTRACE_SAVED_REGISTERS != 0

std::vector<std::uint64_t> ToSampledRegisters(
    std::span<const std::byte> saved) {
  std::array<std::uint64_t, COUNTRACE_SAVED_REGISTERS> words;
  if (saved.size() != sizeof(words)) return {};
  std::memcpy(words.data(), saved.data(), sizeof(words));
  // No user code (a thread of the kernel's for a program).
  if (words[COUNTRACE_SAVED_STACK_POINTER] == 0) return {};
#if defined(__x86_64__)
  // The order in arch/x86/include/uapi/asm/ptrace.h: r15 to r12, bp, bx, r11 to
  // r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss.
  constexpr std::size_t kCodeSegment = 17;
  constexpr std::uint64_t kUserCode64 = 0x33;
  if ((words[kCodeSegment] & 0xffff) != kUserCode64) return {};
  // ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15.
  constexpr std::array kOrder = {10, 5, 11, 12, 13, 14, 4, 19, 16,
                                 9,  8, 7,  6,  3,  2,  1, 0};
  std::vector<std::uint64_t> sampled;
  for (const std::size_t at : kOrder) sampled.push_back(words[at]);
  return sampled;
#else
  // x0 to x30, sp, pc, pstate.
  constexpr std::size_t kState = 33;
  constexpr std::uint64_t k32Bit = 0x10;
  if ((words[kState] & k32Bit) != 0) return {};
  return {words.begin(), words.begin() + kState};
#endif
}

#else

std::vector<std::uint64_t> ToSampledRegisters(std::span<const std::byte>) {
  return {};
}

#endif

}  // namespace countrace::runtime
