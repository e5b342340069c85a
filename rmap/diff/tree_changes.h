// `diff --tree`: what each node of a tree of rules changed by, and which part
// of the root's change that is (Tables 6 and 7 of the CPI analysis).
//
// A node that several runs of a side count alone has their spread, as any
// number of a comparison (difference.h). One that only all runs of its side
// together have (each run counted other events) is one value, whose noise is
// not known, within the interval that the spread of their totals gives it.
#ifndef COUNTRACE_RMAP_DIFF_TREE_CHANGES_H_
#define COUNTRACE_RMAP_DIFF_TREE_CHANGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/result/tables.h"
#include "rmap/result/tree_table.h"

namespace countrace::rmap::diff {

// `value` of the rows is that of after. Verdicts hold for all rows together: at
// most 5 % of the certain ones are noise. Errors: kInvalidArgument: no such
// tree. Requires: `rules` are checked, a report on each side.
absl::StatusOr<TreeTable> CompareTrees(const metrics::RuleSet& rules,
                                       const std::string& tree,
                                       const std::vector<Report>& before,
                                       const std::vector<Report>& after);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_TREE_CHANGES_H_
