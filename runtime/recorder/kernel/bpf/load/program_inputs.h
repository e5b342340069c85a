// What the BPF programs need to know: constants and sizes of their maps before
// they are loaded, dump rules and marked names in maps afterwards.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PROGRAM_INPUTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PROGRAM_INPUTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/recorder/kernel/bpf/load/bpf_program_options.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"

struct kernel_programs;  // the generated skeleton

namespace countrace::runtime {

// Bytes from the begin of a CPU's ring to that of the next one.
constexpr std::uint64_t RingStride(std::uint64_t ring_bytes) {
  return ring_bytes + COUNTRACE_RING_SLACK;
}

// Before loading. `ring_bytes`: of each CPU, a power of two; it replaces that
// of `options`. Returns: 0 or an errno.
int SetInputs(const BpfProgramOptions& options, std::uint64_t ring_bytes,
              kernel_programs& skeleton);

// After loading.
absl::Status StoreRules(const KernelHookRules& rules,
                        const kernel_programs& skeleton);
absl::Status StoreMarks(const ProcessMarks& marks,
                        const kernel_programs& skeleton);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_PROGRAM_INPUTS_H_
