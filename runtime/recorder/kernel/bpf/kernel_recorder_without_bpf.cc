// Stands for kernel_recorder_bpf.cc in a build with COUNTRACE_WITH_BPF=OFF.
#include "runtime/recorder/kernel/bpf/kernel_recorder_bpf.h"

namespace countrace::runtime {

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenBpfKernelRecorder(
    const KernelRecorderOptions& /*options*/) {
  return absl::UnimplementedError("This countrace was built without BPF");
}

std::optional<std::uint32_t> PriceOfFunctionHooks(FunctionWay) {
  return std::nullopt;
}

}  // namespace countrace::runtime
