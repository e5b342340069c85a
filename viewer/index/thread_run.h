// The on-CPU clock of one thread at any instant: its stays without the
// interrupts in them. O(log n).
#ifndef COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_
#define COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/interval_row.h"
#include "viewer/index/timeline_index.h"

namespace countrace::viewer {

// By CPU: the row of its time in interrupts (kInterruptTime), or kNoKey.
// Short-lived; views the index.
class InterruptRows {
 public:
  explicit InterruptRows(const TimelineIndex& index);
  // Time of `cpu` charged to interrupts inside `range`. Exact.
  std::uint64_t TimeIn(std::uint32_t cpu, TimeRange range) const;
  // Of the whole trace up to `time_ns`.
  std::uint64_t TimeBefore(std::uint32_t cpu, std::uint64_t time_ns) const;
  // True if one has the CPU at `time_ns`.
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
      : stays_(index, row), interrupts_(interrupts) {}

  const IntervalRow& stays() const { return stays_; }
  // On-CPU time before `time_ns`, as the report's `on_cpu_ns` counts it. Exact.
  std::uint64_t OnCpuBefore(std::uint64_t time_ns) const;

 private:
  IntervalRow stays_;
  const InterruptRows& interrupts_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_THREAD_RUN_H_
