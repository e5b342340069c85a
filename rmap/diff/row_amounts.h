// The metrics of single rows and of all processes, in one trace.
// Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_ROW_AMOUNTS_H_
#define COUNTRACE_RMAP_DIFF_ROW_AMOUNTS_H_

#include <cstdint>
#include <optional>

#include "rmap/diff/compared_metrics.h"
#include "rmap/diff/difference.h"

namespace countrace::rmap::diff {

// The true value is in [value - below, value + above], infinite without a
// bound. Modulo 2^64, since a part outside segments can be negative, and a
// damaged trace can hold any count; Signed() is the value.
struct Quantity {
  std::uint64_t value = 0;
  double below = 0, above = 0;
  SamplingError error;  // of an estimate; `below` and `above` do not include it

  double Signed() const {
    return static_cast<double>(static_cast<std::int64_t>(value));
  }
  void Add(const Quantity& other);
};

// A metric of a row in one run; `self` excludes inner segments.
struct Amount {
  Quantity self, incl;
  Quality quality = Quality::kExact;

  // Adds `other`, an amount of the same run.
  void Add(const Amount& other);
  // At most `most` is missing, and at most as much is too much.
  void Limit(double most);
};

// Interrupts are segments of a CPU, without a process row.
bool IsInterrupt(const SegmentRow& row);

Quantity CallsOfRow(const Report& report, const SegmentRow& row);
// Absent: not in this trace.
std::optional<Amount> AmountOf(const Report& report, const Metric& metric,
                               const SegmentRow& row);
std::optional<Amount> AmountOf(const Report& report, const Metric& metric,
                               const ProcessRow& row);

// The sum over all processes of one trace. For wall and off-CPU time, which
// exist inside segments only, and for events counted at hooks only: over all
// segments. Absent: not in this trace. An estimate covers all processes
// together; the sum of their estimates would be less sure.
std::optional<Amount> ProcessTotal(const Report& report, const Metric& metric);

// The sum over the segments of all processes in one trace, as in the rows.
std::uint64_t SumOfSegments(const Report& report, const Metric& metric);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_ROW_AMOUNTS_H_
