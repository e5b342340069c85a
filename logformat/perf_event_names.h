// Names of perf's generic events, in the order of their numbers.
//
// From perf-list(1) and linux/perf_event.h: an index in a table is the event's
// config. Shared by the recorder, which counts them, and by the readers of
// perf's and LTTng's traces. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_PERF_EVENT_NAMES_H_
#define COUNTRACE_LOGFORMAT_PERF_EVENT_NAMES_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace countrace::logformat {

struct PerfEventName {
  std::string_view name;
  std::string_view alias = {};  // a second spelling; empty: none
};

// PERF_COUNT_HW_*.
inline constexpr PerfEventName kPerfHardwareEvents[] = {
    {"cycles", "cpu-cycles"},
    {"instructions"},
    {"cache-references"},
    {"cache-misses"},
    {"branches", "branch-instructions"},
    {"branch-misses"},
    {"bus-cycles"},
    {"stalled-cycles-frontend", "idle-cycles-frontend"},
    {"stalled-cycles-backend", "idle-cycles-backend"},
    {"ref-cycles"}};

// PERF_COUNT_SW_*.
inline constexpr PerfEventName kPerfSoftwareEvents[] = {
    {"cpu-clock"},
    {"task-clock"},
    {"page-faults", "faults"},
    {"context-switches", "cs"},
    {"cpu-migrations", "migrations"},
    {"minor-faults"},
    {"major-faults"},
    {"alignment-faults"},
    {"emulation-faults"},
    {"dummy"},
    {"bpf-output"},
    {"cgroup-switches"}};
// Events that the recorder counts; the rest only produce samples.
inline constexpr std::span kPerfCountedSoftwareEvents =
    std::span(kPerfSoftwareEvents).first<9>();

// Not perf's: the CPU time of threads in the scheduler's own account, in ns
// (/proc/PID/schedstat), which BPF programs read at each dispatch.
inline constexpr std::string_view kExecRuntimeEvent = "exec-runtime";

// PERF_COUNT_HW_CACHE_*: events are called NAME-OPERATION, "LLC-load-misses".
inline constexpr PerfEventName kPerfCaches[] = {{"L1-dcache", "l1-d"},
                                                {"L1-icache", "l1-i"},
                                                {"LLC", "L2"},
                                                {"dTLB", "d-tlb"},
                                                {"iTLB", "i-tlb"},
                                                {"branch", "bpu"},
                                                {"node"}};

struct PerfCacheOperation {
  std::string_view access, miss;
};
// PERF_COUNT_HW_CACHE_OP_*.
inline constexpr PerfCacheOperation kPerfCacheOperations[] = {
    {"loads", "load-misses"},
    {"stores", "store-misses"},
    {"prefetches", "prefetch-misses"}};

// The name that `spelling` is an alias of, or `spelling` itself.
constexpr std::string_view PerfEventOfAlias(std::string_view spelling) {
  if (spelling.empty()) return spelling;
  for (const PerfEventName& event : kPerfHardwareEvents) {
    if (spelling == event.alias) return event.name;
  }
  for (const PerfEventName& event : kPerfSoftwareEvents) {
    if (spelling == event.alias) return event.name;
  }
  return spelling;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_PERF_EVENT_NAMES_H_
