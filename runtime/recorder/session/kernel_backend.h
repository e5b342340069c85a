// Chooses the back end of the kernel recorder.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_KERNEL_BACKEND_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_KERNEL_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/kernel_recorder.h"
#include "runtime/recorder/request/record_options.h"

namespace countrace::runtime {

// Opens the recorder; kAuto falls back to perf rings and adds the reason to
// `messages`. Returns: as OpenPerfKernelRecorder(), OpenBpfKernelRecorder().
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenKernelRecorder(
    KernelBackend backend, const KernelRecorderOptions& options,
    std::vector<std::string>& messages);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_KERNEL_BACKEND_H_
