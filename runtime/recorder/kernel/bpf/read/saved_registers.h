// User registers as the kernel saves them when a thread enters it (struct
// pt_regs), in the order of samples (user_registers.h).
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SAVED_REGISTERS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SAVED_REGISTERS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace countrace::runtime {

// Nothing for another number of bytes than the kernel's, or of a 32-bit
// program.
std::vector<std::uint64_t> ToSampledRegisters(std::span<const std::byte> saved);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SAVED_REGISTERS_H_
