// What the probes of a recording cost on this machine: as an earlier one of
// this boot kept it (kept_measurements.h), or as it is measured
// (probe_measurement.h). Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_CALIBRATION_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_CALIBRATION_H_

#include "absl/status/status.h"
#include "runtime/recorder/kernel/bpf/load/bpf_program_options.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// Measures each kind of probe that `hooks` has, unless an earlier recording of
// this boot did so with the same options, and stores DynamicHook::cost:
// kUnknownProbeCost if that failed. `options`: of the recording. Returns:
// errors of MeasureProbes().
absl::Status CalibrateProbes(const BpfProgramOptions& options,
                             KernelHookRequest& hooks);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_PRICES_PROBE_CALIBRATION_H_
