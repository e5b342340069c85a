// The books over time: every account's time and counts, interval by interval.
//
// Sums over the intervals are the report's totals, exactly. Time is cut at the
// intervals' boundaries. A count between two dumps on both sides of a boundary
// goes where its records are, if each has one (recorded_instants.h). Else it is
// split by time, rounded so that the sum stays; the interval is then
// `inferred`, except for clocks, whose counts are time. A multiplexed event has
// its counted value, not the report's estimate: `bounded`.
//
// Flow: an observer of Reconstruct(), then Finish(). Memory: by intervals, at
// most kMaxIntervals, and by threads. Thread: one.
#ifndef COUNTRACE_RMAP_OVER_TIME_OVER_TIME_H_
#define COUNTRACE_RMAP_OVER_TIME_OVER_TIME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "rmap/columns/row_selection.h"
#include "rmap/dispatch/recorded_instants.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

struct OverTimeOptions {
  std::uint64_t begin_ns = 0;           // of the tables; 0: of the trace
  std::uint64_t until_ns = UINT64_MAX;  // what comes from then on is left out
  bool of_range = false;                // so is what comes before begin_ns
  std::uint64_t every_ns = 10'000'000;  // not 0
  // Also separate sums over these threads. Absent: none.
  std::optional<std::unordered_set<std::uint32_t>> threads;  // ThreadIndex
  // Also calls of these segments.
  std::optional<std::unordered_set<std::uint32_t>> hooks;  // hook ids
  // Restricts `hooks` to calls of these threads: CallKey() of each pair.
  std::optional<std::unordered_set<std::uint64_t>> calls;
};

constexpr std::uint64_t CallKey(std::uint32_t thread, std::uint32_t hook_id) {
  return std::uint64_t{thread} << 32 | hook_id;
}

inline constexpr std::size_t kMaxIntervals = 100'000;

// Calls of the selected segments. A call inside another one counts in `calls`,
// but adds no time.
struct IntervalCalls {
  std::uint64_t calls = 0;    // calls that begin in it
  std::uint64_t wall_ns = 0;  // summed over threads
  std::uint64_t on_cpu_ns = 0;
};

// How much the rows of a report may have too much, and what they may lack,
// Bounds::kNone: no limit.
struct Deviation {
  std::uint64_t less = 0, more = 0;
};
// Parts of a count that was split between intervals, by time: `less` of it was
// added here, and `more` to others. Each may be wrong.
struct SplitCount {
  std::uint64_t less = 0, more = 0;
};

class TimeSeries {
 public:
  std::uint64_t begin_ns = 0, end_ns = 0;  // of all intervals
  std::uint64_t origin_ns = 0;             // of offsets: the trace's begin
  std::uint64_t every_ns = 0;
  std::uint32_t cpus = 0;
  std::string path;
  std::vector<std::string> events;
  bool has_kernel_records = false;
  bool of_command = false;  // counts outside its processes are the machine's
  bool has_selected = false, has_calls = false;

  std::size_t size() const { return inferred_.size(); }
  std::uint64_t BeginOf(std::size_t interval) const {
    return begin_ns + interval * every_ns;
  }
  std::uint64_t EndOf(std::size_t interval) const;
  std::uint64_t Time(std::size_t interval, Account account) const {
    return cells_[Cell(interval, Column(account))];
  }
  std::uint64_t Count(std::size_t interval, Account account,
                      std::size_t event) const {
    return cells_[Cell(interval, Column(account)) + 1 + event];
  }
  // Sums over all accounts.
  std::uint64_t TotalTime(std::size_t interval) const;
  std::uint64_t TotalCount(std::size_t interval, std::size_t event) const;
  // Sums over the selected threads.
  std::uint64_t SelectedTime(std::size_t interval) const {
    return cells_[Cell(interval, kAccounts)];
  }
  std::uint64_t SelectedCount(std::size_t interval, std::size_t event) const {
    return cells_[Cell(interval, kAccounts) + 1 + event];
  }
  // The quality of every count of `event` in the interval. kBounded: its event
  // set was multiplexed, so that not everything was counted, or its counter was
  // in doubt somewhere in the trace.
  Quality QualityOf(std::size_t interval, std::size_t event) const {
    if (lower_bounds_.Has(event)) return Quality::kBounded;
    return inferred_[interval].Has(event) ? Quality::kInferred
                                          : Quality::kExact;
  }
  const IntervalCalls& Calls(std::size_t interval) const {
    return calls_[interval];
  }

  // For interval_bounds.h.
  SplitCount Split(std::size_t interval, Account account,
                   std::size_t event) const {
    return splits_[Cell(interval, Column(account)) + 1 + event];
  }
  SplitCount SelectedSplit(std::size_t interval, std::size_t event) const {
    return splits_[Cell(interval, kAccounts) + 1 + event];
  }
  const Deviation& deviation(Account account) const {
    return accounts_[Column(account)];
  }
  const Deviation& selected() const { return selected_; }
  const std::vector<Deviation>& selected_counts() const {
    return selected_counts_;
  }
  struct CallsDeviation {
    Deviation calls, wall_ns, on_cpu_ns;
  };
  const CallsDeviation& calls_deviation() const { return calls_deviation_; }

 private:
  friend class OverTime;
  static std::size_t Column(Account account) {
    return static_cast<std::size_t>(account);
  }
  std::size_t Cell(std::size_t interval, std::size_t column) const {
    return (interval * (kAccounts + 1) + column) * (1 + events.size());
  }
  // Rows of kAccounts + 1 columns (the last: selected threads) of time, then
  // counts.
  std::vector<std::uint64_t> cells_;
  std::vector<SplitCount> splits_;  // as cells_
  Deviation accounts_[kAccounts], selected_;
  std::vector<Deviation> selected_counts_;
  CallsDeviation calls_deviation_;
  std::vector<MeasureSet> inferred_;  // events of which a count was split
  std::vector<IntervalCalls> calls_;
  MeasureSet lower_bounds_;  // events whose counts are lower bounds
};

class OverTime final : public TimelineObserver {
 public:
  // Copies what it needs from `info` and `options`.
  OverTime(const logformat::TraceInfo& info, OverTimeOptions options);

  void OnTime(const AttributedTime& attributed) override;
  void OnCounts(const AttributedCount& attributed) override;
  void OnFault(const FaultHit& fault) override { instants_.OnFault(fault); }
  void OnDispatch(const DispatchSpan& dispatch) override {
    instants_.OnDispatch(dispatch);
  }
  void OnCounters(const CounterDump& dump) override {
    instants_.OnCounters(dump);
  }
  void OnSegmentBegin(const SegmentBegin& begin) override;
  void OnSegment(const SegmentSpan& span) override;

  // Call once, with the result of Reconstruct().
  // Errors: OUT_OF_RANGE: there would be more than kMaxIntervals; the message
  // names the shortest possible interval.
  absl::StatusOr<TimeSeries> Finish(const Report& report);

 private:
  // Selected calls of one thread.
  struct Inside {
    std::uint64_t open = 0;  // number of open calls
    std::uint64_t since_ns = 0;
    // Finished times inside, with on-CPU time that may still be unattributed.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> unattributed;
  };

  bool IsLeftOut(std::uint64_t time_ns) const {
    return time_ns >= options_.until_ns ||
           (options_.of_range && time_ns < series_.begin_ns);
  }
  // The interval of an instant, created if it is new; none beyond the limit.
  std::optional<std::size_t> IntervalAt(std::uint64_t time_ns);
  // Calls `add(interval, begin_ns, end_ns)` for each part of a time range.
  template <typename Add>
  void Cut(std::uint64_t begin_ns, std::uint64_t end_ns, Add add);
  // `instants`: of the counts, one each; empty: not recorded.
  void AddCount(const AttributedCount& attributed,
                const std::vector<std::uint64_t>& instants, std::size_t column);
  void AddAt(std::uint64_t time_ns, std::size_t column, std::size_t event,
             std::uint64_t count);
  bool Selects(ThreadIndex thread, std::uint32_t hook_id) const;
  void AttributeInside(Inside& inside, const AttributedTime& attributed);
  void See(std::uint64_t time_ns);
  // Takes the limits of the report's rows.
  void TakeBounds(const Report& report);

  OverTimeOptions options_;
  std::unordered_set<std::string> segments_;  // names of options_.hooks
  TimeSeries series_;
  std::vector<bool> clocks_;  // by event
  RecordedInstants instants_{{}};
  bool begun_ = false;
  bool too_many_ = false;
  std::unordered_map<std::uint32_t, Inside> inside_;
};

// Segments of threads whose "provider:name" matches `glob`. Interrupts are an
// account of their own.
std::unordered_set<std::uint32_t> SegmentsNamed(
    const logformat::TraceInfo& info, const std::string& glob);

// Adds the rows of `report` in `selection`: threads of processes, or threads,
// if the fields belong to them; else calls of segments, among options.hooks if
// those are given.
// Errors: kInvalidArgument if the fields belong to other rows; kNotFound if
// nothing is selected.
absl::Status AddSelected(const Report& report, const logformat::TraceInfo& info,
                         const RowSelection& selection,
                         OverTimeOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_OVER_TIME_OVER_TIME_H_
