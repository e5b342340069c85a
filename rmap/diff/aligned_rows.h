// Aligns the rows of several traces: the same call path of the same program is
// one row, whatever pid it had in each run. Processes of one command name are
// merged.
//
// The time and counts of a process outside all segments are a row as well
// (empty path), so that the rows of an additive metric add up to the sum over
// all processes.
// Thread: any.
#ifndef COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_
#define COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rmap/diff/compared_metrics.h"
#include "rmap/diff/row_amounts.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::diff {

struct RowOfRun {
  bool occurs = false;
  Quantity calls;
  Quality calls_quality = Quality::kExact;
  // By metric; absent: not in this trace. All 0 where the row does not occur:
  // nothing was recorded for it.
  std::vector<std::optional<Amount>> amounts;
};

struct AlignedRow {
  std::string process;            // command name; empty with --any-process
  std::vector<std::string> path;  // empty: outside all segments
  bool interrupts = false;        // an interrupt of a CPU, in no process
  std::vector<RowOfRun> before, after;  // one for each trace

  bool OccursIn(const std::vector<RowOfRun>& side) const;
};

struct AlignOptions {
  // Rows with the same call path are one, whatever the program's name.
  bool any_process = false;
};

// Sorted by process and path.
std::vector<AlignedRow> Align(const std::vector<Report>& before,
                              const std::vector<Report>& after,
                              const std::vector<Metric>& metrics,
                              const AlignOptions& options);

// `segment` of all processes of one trace, on any path, inclusive; recursive
// calls count once. Absent: it does not occur.
std::optional<RowOfRun> WholeSegment(const Report& report,
                                     const std::string& segment,
                                     const std::vector<Metric>& metrics);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_ALIGNED_ROWS_H_
