// The allowed slowdown: `--threshold`, for CI.
#ifndef COUNTRACE_RMAP_DIFF_THRESHOLD_H_
#define COUNTRACE_RMAP_DIFF_THRESHOLD_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/diff/aligned_rows.h"
#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

struct Threshold {
  std::string text;   // as given
  std::string where;  // "", "total[:METRIC]", "SEGMENT[:METRIC]"
  double percent = 0;
};

// "5%", "total:elapsed 5%", "server:handle 10%", "server:handle:page-faults
// 0%". Errors: INVALID_ARGUMENT with the text and the expected form.
absl::StatusOr<Threshold> ParseThreshold(std::string_view text);

// Without METRIC a total is on-CPU time (wall without kernel records), a
// segment is wall time. Segments: inclusive, of all paths and processes, per
// call; `calls` per run.
//
// A regression: the whole interval (95 %, for all thresholds together) is above
// the allowed value; without an interval the number itself decides.
// Errors: NOT_FOUND if a threshold names something that cannot be compared, so
// that a check without effect does not pass.
absl::StatusOr<std::vector<ThresholdResult>> Judge(
    const std::vector<Threshold>& thresholds, const std::vector<Report>& before,
    const std::vector<Report>& after, const std::vector<Metric>& metrics);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_THRESHOLD_H_
