// What the cost of a probe depends on, as text: a cost that was measured under
// the same conditions in the same boot is used again (kept_measurements.h).
//
// Thread: any; no state.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_COST_KEY_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_COST_KEY_H_

#include <string>

#include "runtime/recorder/kernel/bpf/bpf_program_options.h"

namespace countrace::runtime {

// The build of this program, the kernel's compiler of BPF programs, and what
// they do at a probe with `options`.
std::string ProbeConditions(const BpfProgramOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_COST_KEY_H_
