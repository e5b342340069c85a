// Kernel recorder over perf ring buffers: needs no BPF, only
// CAP_PERFMON (or root, or kernel.perf_event_paranoid = -1) and tracefs.
//
// Each CPU has one group of events led by the tracepoint sched:sched_switch;
// its samples carry the counters at that instant. Records wake no reader:
// Drain() runs on a timer (a reader woken by each switch would record its own
// switches, without end).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_KERNEL_RECORDER_PERF_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_KERNEL_RECORDER_PERF_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/kernel_recorder.h"

namespace countrace::runtime {

// Opens the events on every online CPU, disabled. Returns: PERMISSION_DENIED
// (the message names capability and sysctl), NOT_FOUND (no tracefs or no such
// tracepoint), RESOURCE_EXHAUSTED (descriptors, memory).
absl::StatusOr<std::unique_ptr<KernelRecorder>> OpenPerfKernelRecorder(
    const KernelRecorderOptions& options);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_KERNEL_RECORDER_PERF_H_
