// On-CPU time of one thread up to any instant: its dispatches without the
// interrupts in them. O(log n).
#ifndef COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_
#define COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/interval_row.h"
#include "viewer/index/timeline_index.h"

namespace countrace::viewer {

// For each CPU the row of its interrupt time (kInterruptTime), or kNoKey.
// Short-lived; refers to the index.
class InterruptRows {
 public:
  explicit InterruptRows(const TimelineIndex& index);
  // Time of `cpu` in interrupts inside `range`. Exact.
  std::uint64_t TimeIn(std::uint32_t cpu, TimeRange range) const;
  // The same from the begin of the trace to `time_ns`.
  std::uint64_t TimeBefore(std::uint32_t cpu, std::uint64_t time_ns) const;
  // True if an interrupt runs at `time_ns`.
  bool IsIn(std::uint32_t cpu, std::uint64_t time_ns) const;

 private:
  std::optional<IntervalRow> Row(std::uint32_t cpu) const;
  const TimelineIndex& index_;
  std::vector<std::uint32_t> by_cpu_;
};

class ThreadRun {
 public:
  // Requires: rows()[row] is of RowKind::kThreadRun. Both must outlive this.
  ThreadRun(const TimelineIndex& index, std::uint32_t row,
            const InterruptRows& interrupts)
      : dispatches_(index, row), interrupts_(interrupts) {}

  const IntervalRow& dispatches() const { return dispatches_; }
  // On-CPU time before `time_ns`, as in the report's `on_cpu_ns`. Exact.
  std::uint64_t OnCpuBefore(std::uint64_t time_ns) const;

 private:
  IntervalRow dispatches_;
  const InterruptRows& interrupts_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_
