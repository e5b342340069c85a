#include "runtime/recorder/session/kernel_backend.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/kernel/bpf/kernel_recorder_bpf.h"
#include "runtime/recorder/kernel/perf/kernel_recorder_perf.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/descriptor_limit.h"
#include "runtime/recorder/system/pid_namespace.h"

namespace countrace::runtime {

namespace {

// Beside the perf events of one recording: files, maps, programs, links.
constexpr std::uint64_t kOtherDescriptors = 512;

// One for each event and CPU, one for each place of a dynamic hook, and the
// recorder's own.
void MakeRoomForDescriptors(const KernelRecorderOptions& options) {
  const auto cpus = OnlineCpus();
  if (!cpus.ok()) return;  // as the back ends will say
  std::uint64_t descriptors =
      kOtherDescriptors + cpus->size() * (options.choice.events.size() +
                                          options.samples.size() + 8);
  for (const DynamicHook& hook : options.hooks.dynamic) {
    descriptors += hook.attachments.size();
  }
  RaiseDescriptorLimit(descriptors);
}

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenPerf(
    const KernelRecorderOptions& options) {
  if (!IsHostPidNamespace()) {
    return PidNamespaceError(
        "perf rings have the host's thread numbers, which name other processes "
        "in this pid namespace: only the BPF back end translates them");
  }
  return OpenPerfKernelRecorder(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenKernelRecorder(
    KernelBackend backend, const KernelRecorderOptions& options,
    std::vector<std::string>& messages) {
  if (const absl::Status proc = CheckProcOfOwnNamespace(); !proc.ok()) {
    return proc;
  }
  MakeRoomForDescriptors(options);
  if (backend == KernelBackend::kPerf) return OpenPerf(options);
  auto bpf = OpenBpfKernelRecorder(options);
  if (bpf.ok() || backend == KernelBackend::kBpf) return bpf;
  // Perf rings have no stacks of threads that leave their CPU.
  if (options.off_cpu.any()) return bpf;
  // The user requires what BPF cannot record: perf rings do not have it either.
  if ((options.hooks.any() || options.wakeups) && !options.hooks.optional) {
    return bpf;
  }
  auto perf = OpenPerf(options);
  if (perf.ok()) {
    messages.push_back(absl::StrFormat(
        "Kernel records come from perf rings, which cost more than BPF: %s",
        base::StatusText(bpf.status())));
    return perf;
  }
  // With privilege BPF would work, also in a pid namespace.
  const bool refused = absl::IsPermissionDenied(bpf.status()) ||
                       absl::IsPermissionDenied(perf.status());
  return absl::Status(
      refused ? absl::StatusCode::kPermissionDenied : perf.status().code(),
      absl::StrFormat("BPF: %s; perf rings: %s", base::StatusText(bpf.status()),
                      base::StatusText(perf.status())));
}

}  // namespace countrace::runtime
