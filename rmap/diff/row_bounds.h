// The interval of a number of a row that is not exact: the one place where the
// comparison reads it.
// Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_ROW_BOUNDS_H_
#define COUNTRACE_RMAP_DIFF_ROW_BOUNDS_H_

#include <optional>
#include <string>

#include "rmap/diff/compared_metrics.h"
#include "rmap/diff/difference.h"

namespace countrace::rmap::diff {

// `name` is the number's in the JSON of the row: "calls", "wall_ns.excl",
// "counts.page-faults.incl"; for a process "on_cpu_ns", "counts.page-faults".
// The interval contains what may be missing after a loss, but not the error of
// an estimate; infinite without a bound. Absent: nothing may be missing.
std::optional<Interval> BoundsOf(const Report& report, const SegmentRow& row,
                                 const std::string& name);
std::optional<Interval> BoundsOf(const Report& report, const ProcessRow& row,
                                 const std::string& name);

// Some of the time outside may be that of processes whose fork was lost.
bool IsOutsideUnsure(const Report& report);

// A process may have had threads whose records are all lost: they have no row,
// and are in no limit of its segments.
bool MayLackThreads(const Report& report);

// The most that all processes together may lack: the unattributed part of the
// books, and what is outside where some of it may be their children's. Infinite
// without books.
double MostMissing(const Report& report, const Metric& metric);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_ROW_BOUNDS_H_
