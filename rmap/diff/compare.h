// Compares two sets of traces: the one entry of this folder.
#ifndef COUNTRACE_RMAP_DIFF_COMPARE_H_
#define COUNTRACE_RMAP_DIFF_COMPARE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "rmap/diff/aligned_rows.h"
#include "rmap/diff/diff_tables.h"
#include "rmap/diff/threshold.h"

namespace countrace::rmap::diff {

struct CompareOptions {
  AlignOptions align;
  std::vector<Threshold> thresholds;
  // The largest part of the changes beyond noise that may be noise after all.
  double false_discovery_rate = 0.05;
};

// Tests every number of every row (difference.h). The decision which of them
// are beyond noise covers all together, after Benjamini and Hochberg (1995):
// among hundreds of rows some always differ by chance. The intervals are those
// of Benjamini and Yekutieli (2005), so that a number is within noise exactly
// if its interval contains 0. With one run each there is no verdict.
//
// Thread: one. Requires: at least one trace on each side.
// Errors: those of Judge().
absl::StatusOr<Diff> Compare(const std::vector<Report>& before,
                             const std::vector<Report>& after,
                             const CompareOptions& options);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_COMPARE_H_
