// Counters that LTTng adds to events as contexts: `perf_cpu_cache_misses` is
// perf's cache-misses. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_KERNEL_COUNTER_NAMES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_KERNEL_COUNTER_NAMES_H_

#include <babeltrace2/babeltrace.h>

#include <string>
#include <string_view>
#include <vector>

namespace countrace::importer {

inline constexpr std::string_view kCpuCounterPrefix = "perf_cpu_";
inline constexpr std::string_view kThreadCounterPrefix = "perf_thread_";

// Integer members of `context` (null: none) whose names begin with `prefix`.
std::vector<std::string> CounterContexts(const bt_field_class* context,
                                         std::string_view prefix);
// perf's name of the event that the context `field` counts.
std::string EventOfContext(std::string_view field);
// True if the kernel counts it itself: it is never multiplexed on a PMU.
bool IsSoftwareEvent(std::string_view event);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_KERNEL_COUNTER_NAMES_H_
