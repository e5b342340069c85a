// What probes cost on this machine: a child process calls functions of its own
// with probes on them, with the same BPF programs and events as the recording.
//
// The child's records show when a probe's program ran, its clock when the call
// began and ended: so the cost is known in three parts. Nothing of it is in the
// recording, which has not begun. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_CALIBRATION_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_CALIBRATION_H_

#include "absl/status/status.h"
#include "runtime/recorder/kernel/bpf/bpf_programs.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// Measures each kind of probe that `hooks` has, unless an earlier recording of
// this boot did so with the same options, and stores DynamicHook::cost:
// kUnknownProbeCost if that failed. `options`: of the recording. Measuring
// takes some tenths of a second. Returns: errors of
// BpfPrograms::Load(); UNIMPLEMENTED on this architecture; UNAVAILABLE the
// child was held up.
absl::Status CalibrateProbes(const BpfProgramOptions& options,
                             KernelHookRequest& hooks);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PROBE_CALIBRATION_H_
