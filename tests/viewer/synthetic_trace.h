// Random but consistent reconstruction events with known truth, for driving and
// checking the index. Deterministic for a seed.
#ifndef COUNTRACE_TESTS_VIEWER_SYNTHETIC_TRACE_H_
#define COUNTRACE_TESTS_VIEWER_SYNTHETIC_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

struct SyntheticOptions {
  std::uint32_t seed = 1;
  std::uint32_t cpus = 2;
  std::uint32_t processes = 4;
  std::uint32_t threads_per_process = 3;
  std::uint64_t dispatches = 2000;  // in all, idle included
  std::uint32_t max_depth = 4;
  std::uint64_t mean_dispatch_ns = 40'000;
  bool losses = true;
  // Event 1 is in no event set for a fiftieth of the trace.
  bool event_set_change = false;
};

struct TrueDispatch {
  std::uint32_t cpu;
  std::uint32_t thread;  // kNoKey: idle
  std::uint64_t begin_ns, end_ns;
  std::vector<std::uint64_t> counts;
  bool inferred;
  std::uint16_t end_state = 0;  // logformat::SwitchState
  std::uint64_t interrupts_ns = 0;
};
struct TrueInterrupt {
  std::uint32_t cpu;
  std::uint64_t begin_ns, end_ns;
};
// The thread is runnable, on no CPU.
struct TrueWait {
  std::uint32_t thread;
  std::uint64_t begin_ns, end_ns;
  std::uint32_t waker = kNoKey;  // ended its sleep; kNoKey: it was preempted
};
struct TrueSegment {
  std::uint32_t thread, hook_id, depth;
  std::uint64_t begin_ns, end_ns, on_cpu_ns;
};
struct TrueHook {
  std::uint32_t thread, hook_id;
  std::uint64_t time_ns;
};
struct TrueDump {
  std::uint32_t cpu;
  std::uint64_t time_ns;
  std::vector<std::uint64_t> values;
  std::uint32_t present = 7;
};
struct TrueLoss {
  std::int32_t cpu;
  std::uint64_t begin_ns, end_ns, count;
};

// Times are absolute (report.begin_ns is not 0).
struct SyntheticTrace {
  rmap::Report report;
  logformat::TraceInfo info;
  std::vector<TrueDispatch> dispatches;
  std::vector<TrueWait> waits;
  std::vector<TrueSegment> segments;
  std::vector<TrueHook> hooks;
  std::vector<TrueDump> dumps;
  std::vector<TrueLoss> losses;
  // None; tests add them.
  std::vector<TrueInterrupt> interrupts;
  std::vector<rmap::AttributedCount> late_counts;  // after their dispatches

  std::uint32_t ProcessOf(std::uint32_t thread) const;
  // Calls the observer as reconstruction does: in the order in which spans end.
  void Replay(rmap::TimelineObserver& observer) const;
};

SyntheticTrace MakeSyntheticTrace(const SyntheticOptions& options);

inline constexpr std::uint32_t kSyntheticEvents = 3;

}  // namespace countrace::viewer

#endif  // COUNTRACE_TESTS_VIEWER_SYNTHETIC_TRACE_H_
