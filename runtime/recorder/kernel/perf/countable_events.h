// The requested events that can be counted here, all at once.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_COUNTABLE_EVENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_COUNTABLE_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/kernel_recorder.h"
#include "runtime/recorder/kernel/perf/perf_cpu_group.h"

namespace countrace::runtime {

bool CountsPageFaults(const std::vector<EventSpec>& events);

// The mode of the page-faults events.
FaultMode ModeOfFaults(const std::vector<EventSpec>& events);

// The events of `options` that open on at least one of `cpus`. PMU events must
// also fit beside those that count at the same time. The others are named in
// `messages`, with the remedy. Returns: PERMISSION_DENIED.
absl::StatusOr<EventChoice> CountableEvents(
    const KernelRecorderOptions& options,
    const std::vector<std::uint32_t>& cpus, std::vector<std::string>& messages);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_COUNTABLE_EVENTS_H_
