// The instruction under a probe, which decides what the probe costs: the kernel
// emulates some, and executes others in a copy, single-stepped, which takes a
// second trap (arch/x86/kernel/uprobes.c). Which ones depends on the kernel, so
// each kind here is measured.
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_PROBED_INSTRUCTION_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_PROBED_INSTRUCTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace countrace::runtime {

enum class ProbedInstruction : std::uint8_t {
  kNop,      // one byte; jumps, which the kernel treats alike
  kNop5,     // the one of USDT probes: the kernel may make a call of it
  kLongNop,  // any other nop
  kPush,     // of a register; calls, which write to the stack as well
  kEndbr,    // where a program is built with -fcf-protection
  kOther
};
inline constexpr std::size_t kProbedInstructions = 6;

// `code`: the first bytes of the instruction, in x86-64 code. Elsewhere:
// kOther.
ProbedInstruction KindOfInstruction(std::span<const std::uint8_t> code);

// True for some instructions with a VEX, EVEX or XOP prefix (vpbroadcastb,
// vzeroupper): the kernel looks at the byte of the operation alone, takes it
// for a jump or a call, and emulates that, so no probe may be there
// (branch_setup_xol_ops in arch/x86/kernel/uprobes.c; seen with Linux 6.18).
bool IsTakenForAJump(std::span<const std::uint8_t> code);

// The first bytes of a file's code at `offset`, all zero if they cannot be
// read.
std::array<std::uint8_t, 8> CodeAt(const std::string& file,
                                   std::uint64_t offset);

// That at byte `offset` of a file; kOther if it cannot be read.
ProbedInstruction InstructionAt(const std::string& file, std::uint64_t offset);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_PROBED_INSTRUCTION_H_
