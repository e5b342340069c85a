// What one thread has had up to any instant: on-CPU time (its dispatches
// without the interrupts in them), counts, blocked time. O(log n).
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_THREAD_RUN_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_THREAD_RUN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// For each CPU the row of its interrupt time (kInterruptTime), or kNoKey.
// Short-lived; refers to the index.
class InterruptRows {
 public:
  explicit InterruptRows(const TimelineIndex& index);
  // Time of `cpu` in interrupts inside `range`. Exact.
  std::uint64_t TimeIn(std::uint32_t cpu, TimeRange range) const;
  // The same for ranges that follow one another; `hint` begins as 0 for each
  // CPU.
  std::uint64_t TimeIn(std::uint32_t cpu, TimeRange range,
                       std::uint64_t& hint) const;
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
            const InterruptRows& interrupts);

  const IntervalRow& dispatches() const { return dispatches_; }
  // On-CPU time before `time_ns`, as in the report's `on_cpu_ns`. Exact.
  std::uint64_t OnCpuBefore(std::uint64_t time_ns) const;
  // Counts of `event` before `time_ns`. A dispatch that goes on has its part by
  // the event's CountRule: an estimate if it is spread evenly, or counts have
  // no record.
  IntervalRow::Cumulative CountBefore(std::uint64_t time_ns,
                                      std::uint32_t event) const;
  // Page faults that have records of their own.
  std::uint64_t FaultsIn(TimeRange range) const;
  CountRule RuleOf(std::uint32_t event) const { return index_.RuleOf(event); }
  // When it was blocked, in a trace with pauses; null in others, or if it never
  // was.
  const IntervalRow* blocked() const { return blocked_ ? &*blocked_ : nullptr; }
  bool has_pauses() const { return (index_.header().flags & kPauses) != 0; }
  // True if it was blocked from the end of a dispatch to the next wait or
  // dispatch, in a trace without pauses. Requires: dispatch <
  // dispatches().size(). `wait_hint`: of dispatches in order, as in
  // IntervalRow; begins as 0.
  bool IsBlockedAfter(std::uint64_t dispatch) const;
  bool IsBlockedAfter(std::uint64_t dispatch, std::uint64_t& wait_hint) const;
  // Time before `time_ns` in which the thread was blocked; without the time of
  // which that is not known. Exact.
  std::uint64_t BlockedBefore(std::uint64_t time_ns) const;

 private:
  const TimelineIndex& index_;
  IntervalRow dispatches_;
  const InterruptRows& interrupts_;
  std::optional<std::uint32_t> waits_, faults_;  // rows of the same thread
  std::optional<IntervalRow> blocked_;
};

// True if a dispatch with these LeafFlags left its CPU to block.
bool LeavesBlocked(std::uint32_t flags);

// True if a wait with these LeafFlags began when something ended the thread's
// sleep: whatever state it left its CPU in (an idle kernel thread's is none of
// the known ones), it was blocked.
constexpr bool WasWoken(std::uint32_t flags) {
  return flags >> kLeafWakerShift != 0;
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_THREAD_RUN_H_
