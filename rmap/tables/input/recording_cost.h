// The time that recording took in each account: the estimate behind the books'
// `recording`.
//
// Hooks of programs: the number of records times the cost of one, which the
// recorder measured on that machine (TraceInfo::own_hook_ps; own_hook_cpu_ps
// for whole processes, whose helper thread makes room for the records). Kernel
// side: the run time of the BPF programs, which the kernel measured in samples;
// in a trace of the whole machine it is divided among the accounts in
// proportion to the kernel records that came in each. All of it is inside the
// accounts, which stay as measured. Thread: any.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_RECORDING_COST_H_
#define COUNTRACE_RMAP_TABLES_INPUT_RECORDING_COST_H_

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "logformat/trace_info.h"
#include "rmap/dispatch/dispatch_tracker.h"
#include "rmap/result/tables.h"
#include "rmap/state/cpu_state.h"
#include "rmap/state/thread_registry.h"

namespace countrace::rmap {

class RecordingCost {
 public:
  RecordingCost(const logformat::TraceInfo& info, ThreadRegistry& registry);

  // Nanoseconds of hook records of a process's threads; absent: unknown.
  std::optional<std::uint64_t> OfProcess(const ProcessState& process) const;
  // Nanoseconds inside the calls of a path, including the segments in it. Its
  // own hooks add what lies between the clock readings of enter and exit: the
  // cost of one record. Records of point hooks are left out.
  std::optional<std::uint64_t> InSegment(const PathNode& node) const;
  // For the books of a clock; `hooks_ns`: sum over all processes. BPF programs
  // were measured over the whole trace: unknown if the books are `of_range`.
  Recording OfBooks(const logformat::TraceInfo& info,
                    const DispatchTracker& dispatches, std::uint64_t hooks_ns,
                    bool of_range) const;

 private:
  struct Records {
    std::uint64_t all = 0, dumps = 0;
  };
  // `ps`: the cost of one record without counters.
  std::uint64_t Nanoseconds(Records records, std::uint64_t ps) const;
  void AddCalls(const PathNode& root);

  const std::uint64_t cpu_ps_, record_ps_;
  const std::uint64_t counters_ps_;  // added to a record's cost by its counters
  std::unordered_map<const PathNode*, Records> inside_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_RECORDING_COST_H_
