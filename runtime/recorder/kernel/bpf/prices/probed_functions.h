// Functions of this program that do nothing, to measure probes on them: for
// each kind of first instruction one whose returns are probed as well, and one
// with a probe at its enter alone.
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBED_FUNCTIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBED_FUNCTIONS_H_

#include <cstdint>
#include <optional>

#include "runtime/recorder/kernel/hooks/probed_instruction.h"

namespace countrace::runtime {

using ProbedFunction = void (*)();

// Null: there is none for this architecture.
ProbedFunction FunctionWith(ProbedInstruction first, bool returns);

// Its place in the file /proc/self/exe; absent: it is in another file.
std::optional<std::uint64_t> FileOffsetOf(ProbedFunction function);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBED_FUNCTIONS_H_
