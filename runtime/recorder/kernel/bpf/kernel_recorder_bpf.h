// Kernel recorder over BPF programs: a record of 16 bytes and its counters
// for each dispatch, no sample, no wake-up. Needs CAP_BPF and CAP_PERFMON (or
// root), BTF, and Linux 6.1.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/kernel_recorder.h"

namespace countrace::runtime {

// Loads and attaches the programs; they do not record yet. Returns:
// PERMISSION_DENIED; UNIMPLEMENTED (no BPF in the kernel, or not in this
// build); RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenBpfKernelRecorder(
    const KernelRecorderOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_
