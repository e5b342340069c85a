// The limits of rows that are sums of rows of calls. Thread: any; no state.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_CALL_LIMITS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_CALL_LIMITS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rmap/result/limits.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// The sums of the limits of numbers that are exact in some rows.
struct CallLimits {
  Bounds calls{0, 0}, wall{0, 0}, longest{0, 0}, on_cpu{0, 0};
  Bounds wait{0, 0}, blocked{0, 0};

  static Bounds Of(const SegmentRow& row, Number number, std::uint64_t value) {
    return row.bounds.Of(number).value_or(Bounds{value, value});
  }
  static void Add(const Bounds& limits, Bounds& sum) {
    sum.lo += limits.lo;
    sum.hi = AddBounded(sum.hi, limits.hi);
  }
  void Add(const SegmentRow& row) {
    const auto incl = [](const std::optional<InclusiveExclusive>& time) {
      return time ? time->incl : 0;
    };
    Add(Of(row, Number::kCalls, row.calls), calls);
    Add(Of(row, Number::kWallIncl, row.wall.incl), wall);
    Add(Of(row, Number::kOnCpuIncl, incl(row.on_cpu)), on_cpu);
    Add(Of(row, Number::kWaitIncl, incl(row.wait)), wait);
    Add(Of(row, Number::kBlockedIncl, incl(row.blocked)), blocked);
    const Bounds most = Of(row, Number::kWallMax, row.wall.max);
    longest.lo = std::max(longest.lo, most.lo);
    longest.hi = std::max(longest.hi, most.hi);
  }

  // Sets those of the sum, and its quality.
  template <typename Row>
  void Set(Row& row) const {
    row.bounds.Set(Number::kCalls, row.calls, calls);
    row.bounds.Set(Number::kWallIncl, row.wall_ns, wall);
    row.bounds.Set(Number::kWallMax, row.longest_ns, longest);
    if (row.on_cpu_ns) {
      row.bounds.Set(Number::kOnCpuIncl, *row.on_cpu_ns, on_cpu);
    }
    if (row.wait_ns) row.bounds.Set(Number::kWaitIncl, *row.wait_ns, wait);
    if (row.blocked_ns) {
      row.bounds.Set(Number::kBlockedIncl, *row.blocked_ns, blocked);
    }
    row.quality = row.qualities.Worst();
  }
};

// Adds times, errors and qualities of `calls`.
template <typename Row>
void AddCalls(const SegmentRow& calls, Row& row) {
  const auto add = [](const std::optional<InclusiveExclusive>& time,
                      std::optional<std::uint64_t>& sum) {
    if (time) sum = sum.value_or(0) + time->incl;
  };
  row.calls += calls.calls;
  row.wall_ns += calls.wall.incl;
  row.longest_ns = std::max(row.longest_ns, calls.wall.max);
  add(calls.on_cpu, row.on_cpu_ns);
  add(calls.wait, row.wait_ns);
  add(calls.blocked, row.blocked_ns);
  for (const auto& [error, failed] : *calls.errors) row.errors[error] += failed;
  for (const Quality quality :
       {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
    if (calls.qualities.Has(quality)) row.qualities.Add(quality);
  }
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_CALL_LIMITS_H_
