// The registers of user code that the kernel copies with a sample
// (PERF_SAMPLE_REGS_USER), and what DWARF calls them.
//
// Thread: any.
#ifndef COUNTRACE_BASE_CODE_USER_REGISTERS_H_
#define COUNTRACE_BASE_CODE_USER_REGISTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace countrace::base {

// perf_event_attr.sample_regs_user; 0: not known for this processor.
std::uint64_t UserRegisterMask();
// Likewise, of the stack pointer alone.
std::uint64_t StackPointerMask();

struct UserRegisters {
  static constexpr std::size_t kMost = 33;
  std::array<std::uint64_t, kMost> by_dwarf{};  // the first `count` are known
  unsigned count = 0;
  std::uint64_t program_counter = 0, stack_pointer = 0;
};

// `values`: one for each bit of the mask, as the kernel has them. Requires: as
// many as the mask has bits.
UserRegisters ToUserRegisters(std::span<const std::uint64_t> values);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_USER_REGISTERS_H_
