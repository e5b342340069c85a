#include "runtime/recorder/kernel_backend.h"

#include "absl/strings/str_format.h"
#include "runtime/recorder/bpf/kernel_recorder_bpf.h"
#include "runtime/recorder/kernel_recorder_perf.h"
#include "runtime/recorder/small_file.h"

namespace countrace::runtime {

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenKernelRecorder(
    KernelBackend backend, const KernelRecorderOptions& options,
    std::vector<std::string>& messages) {
  if (backend == KernelBackend::kPerf) return OpenPerfKernelRecorder(options);
  auto bpf = OpenBpfKernelRecorder(options);
  if (bpf.ok() || backend == KernelBackend::kBpf) return bpf;
  auto perf = OpenPerfKernelRecorder(options);
  if (perf.ok()) {
    messages.push_back(absl::StrFormat(
        "Kernel records come from perf rings, which cost more than BPF: %s",
        StatusText(bpf.status())));
  }
  return perf;
}

}  // namespace countrace::runtime
