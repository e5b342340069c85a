// The counts and times of a report's rows, as inputs of rules.
//
// Bounded counts of processes and threads are lower bounds (tables.h). Their
// upper bound follows from the books: at most the unattributed counts are
// missing. Where no such bound is known there is no interval.
// Thread: any; const. Requires: the report outlives it.
#ifndef COUNTRACE_RMAP_METRICS_ROW_INPUTS_H_
#define COUNTRACE_RMAP_METRICS_ROW_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rmap/metrics/estimate.h"
#include "rmap/metrics/quantities.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::metrics {

class RowInputs {
 public:
  explicit RowInputs(const Report& report);

  const Report& report() const { return report_; }
  std::size_t RowCount(Scope scope) const;
  // Absent: not in the trace.
  // Requires: binding.kind is kQuantity or kEvent; row < RowCount(scope).
  std::optional<Measured> Get(Scope scope, std::size_t row,
                              const Binding& binding) const;
  // An event to suggest instead of one that is absent, or "": cycles:u for
  // cycles.
  std::string Similar(const std::string& event) const;

 private:
  using Input = std::optional<Measured>;
  struct TaskSums {  // sums over a process's threads, or over all
    Input wait, blocked;
    std::uint64_t migrations = 0;
    Quality quality = Quality::kExact;
  };

  Input QuantityOf(Scope scope, std::size_t row, Quantity quantity) const;
  Input TraceQuantity(Quantity quantity) const;
  Input AllProcesses(Quantity quantity) const;
  Input ProcessQuantity(const ProcessRow& row, Quantity quantity) const;
  Input ThreadQuantity(const ThreadRow& row, Quantity quantity) const;
  static Input SegmentQuantity(const SegmentRow& row, Quantity quantity);
  Input CpuQuantity(const CpuRow& row, Quantity quantity) const;
  static Input SumQuantity(const TaskSums& sums, Quantity quantity);
  Input EventOf(Scope scope, std::size_t row, const Binding& binding) const;
  Input AccountInTurns(const ScaledBooks& books, Account account) const;
  Input AccountOfBooks(std::size_t event, Account account) const;
  Input Task(const std::optional<std::uint64_t>& value, Quality quality,
             std::optional<std::uint64_t> missing) const;
  // The event's count in the books that no account has; absent: unknown.
  std::optional<std::uint64_t> Missing(std::size_t event) const;
  static std::optional<std::uint64_t> Uncounted(const Books& books);
  std::optional<std::size_t> EventIndex(const std::string& event) const;

  const Report& report_;
  std::map<std::string, std::size_t> events_;  // by canonical name
  std::map<ProcessIndex, TaskSums> of_process_;
  TaskSums of_all_;
  std::uint64_t unattributed_ns_ = 0;
  // Accounts that this trace separates. An account that is 0 for every event,
  // also for clocks, is not separate: a command's trace has idle time in
  // `outside`.
  bool has_own_ = false, has_idle_ = false, has_interrupts_ = false;
};

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_ROW_INPUTS_H_
