// Kernel recorder over BPF programs: a record of 16 bytes and its counters
// for each dispatch, no sample, no wake-up. Needs CAP_BPF and CAP_PERFMON (or
// root), BTF, and Linux 6.1.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/functions/function_ways.h"
#include "runtime/recorder/kernel/kernel_recorder.h"

namespace countrace::runtime {

// Loads and attaches the programs; they do not record yet. Returns:
// PERMISSION_DENIED; UNIMPLEMENTED (no BPF in the kernel, or not in this
// build); RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenBpfKernelRecorder(
    const KernelRecorderOptions& options);

// What one call of a hooked function of the kernel takes, in ns, with the event
// task-clock: measured, or as an earlier recording of this boot kept it; absent
// if that failed.
std::optional<std::uint32_t> PriceOfFunctionHooks(FunctionWay way);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_KERNEL_RECORDER_BPF_H_
