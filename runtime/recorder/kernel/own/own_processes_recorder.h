// Samples alone, of processes that the user may trace without privilege: his
// own, their user code. The trace has no dispatches then, and no other counts.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_OWN_OWN_PROCESSES_RECORDER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_OWN_OWN_PROCESSES_RECORDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/kernel_recorder.h"

namespace countrace::runtime {

// Requires: options.samples. Returns: as SamplingEvents::Open().
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenOwnProcessesRecorder(
    const KernelRecorderOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_OWN_OWN_PROCESSES_RECORDER_H_
