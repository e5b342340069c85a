#include "base/code/user_registers.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

namespace countrace::base {

#if defined(__x86_64__)
namespace {

struct Register {
  unsigned of_kernel, of_dwarf;
};
// In the kernel's order. DWARF's numbers: System V ABI for AMD64, figure 3.36.
constexpr std::array kRegisters = {
    Register{PERF_REG_X86_AX, 0},   Register{PERF_REG_X86_BX, 3},
    Register{PERF_REG_X86_CX, 2},   Register{PERF_REG_X86_DX, 1},
    Register{PERF_REG_X86_SI, 4},   Register{PERF_REG_X86_DI, 5},
    Register{PERF_REG_X86_BP, 6},   Register{PERF_REG_X86_SP, 7},
    Register{PERF_REG_X86_IP, 16},  Register{PERF_REG_X86_R8, 8},
    Register{PERF_REG_X86_R9, 9},   Register{PERF_REG_X86_R10, 10},
    Register{PERF_REG_X86_R11, 11}, Register{PERF_REG_X86_R12, 12},
    Register{PERF_REG_X86_R13, 13}, Register{PERF_REG_X86_R14, 14},
    Register{PERF_REG_X86_R15, 15},
};

}  // namespace

std::uint64_t UserRegisterMask() {
  std::uint64_t mask = 0;
  for (const Register& each : kRegisters) {
    mask |= std::uint64_t{1} << each.of_kernel;
  }
  return mask;
}

std::uint64_t StackPointerMask() { return std::uint64_t{1} << PERF_REG_X86_SP; }

UserRegisters ToUserRegisters(std::span<const std::uint64_t> values) {
  UserRegisters out;
  out.count = kRegisters.size();
  for (std::size_t i = 0; i < kRegisters.size(); ++i) {
    out.by_dwarf[kRegisters[i].of_dwarf] = values[i];
  }
  constexpr std::size_t kStackPointer = 7, kReturnAddress = 16;
  out.stack_pointer = out.by_dwarf[kStackPointer];
  out.program_counter = out.by_dwarf[kReturnAddress];
  return out;
}

#elif defined(__aarch64__)

// x0 to x30, sp and pc: DWARF counts the first 32 of them in the same way.
std::uint64_t UserRegisterMask() {
  return (std::uint64_t{1} << PERF_REG_ARM64_MAX) - 1;
}

std::uint64_t StackPointerMask() {
  return std::uint64_t{1} << PERF_REG_ARM64_SP;
}

UserRegisters ToUserRegisters(std::span<const std::uint64_t> values) {
  UserRegisters out;
  out.count = PERF_REG_ARM64_PC;
  for (std::size_t i = 0; i < out.count; ++i) out.by_dwarf[i] = values[i];
  out.stack_pointer = values[PERF_REG_ARM64_SP];
  out.program_counter = values[PERF_REG_ARM64_PC];
  return out;
}

#else

std::uint64_t UserRegisterMask() { return 0; }
std::uint64_t StackPointerMask() { return 0; }
UserRegisters ToUserRegisters(std::span<const std::uint64_t>) { return {}; }

#endif

}  // namespace countrace::base
