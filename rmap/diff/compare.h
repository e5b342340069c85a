// Two sets of traces to what changed between them: the one entry of this
// folder.
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
  // Of what is said to be beyond noise, at most this part may be noise.
  double false_discovery_rate = 0.05;
};

// Every number of every row is tested (difference.h). Which of them are beyond
// noise is decided for all together, after Benjamini and Hochberg (1995):
// among hundreds of rows some always differ by chance. Their intervals are
// those of Benjamini and Yekutieli (2005), so that a number is within noise
// exactly if its interval holds 0.
//
// Thread: one. Requires: at least one trace on each side.
// Errors: as Judge().
absl::StatusOr<Diff> Compare(const std::vector<Report>& before,
                             const std::vector<Report>& after,
                             const CompareOptions& options);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_COMPARE_H_
