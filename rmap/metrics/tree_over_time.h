// Trees of rules, interval by interval: `report --tree NAME --by time`, and the
// timeline's strips of trees.
#ifndef COUNTRACE_RMAP_METRICS_TREE_OVER_TIME_H_
#define COUNTRACE_RMAP_METRICS_TREE_OVER_TIME_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/metrics/rule_set.h"
#include "rmap/metrics/tree_rows.h"
#include "rmap/result/tables.h"
#include "rmap/result/tree_table.h"

namespace countrace::rmap::metrics {

// The shipped trees, by name.
const std::vector<std::string>& ShippedTrees();
// The shipped rules, those of the tree `name` if it is shipped, then those of
// `files`, which may use or replace them. Names are not checked yet. Errors: as
// AddRuleFile().
absl::Status AddTreeRules(const std::string& name,
                          const std::vector<std::string>& files,
                          RuleSet& rules);

// A tree with its rules, checked.
struct KnownTree {
  std::string name;
  RuleSet rules;
};
// Those, shipped and of `files`, whose root and what it is divided by need only
// events of `events`. Errors: as AddTreeRules(), RuleSet::Check(), FindTree().
absl::StatusOr<std::vector<KnownTree>> TreesOf(
    const std::vector<std::string>& files,
    const std::vector<std::string>& events);

struct TreeInterval {
  std::uint64_t from_ns = 0, until_ns = 0;
  std::vector<TreeTable> tables;  // of each request
};
struct TreeIntervals {
  std::uint64_t begin_ns = 0, end_ns = 0;  // what is divided
  std::uint64_t every_ns = 1;              // not 0
  // The last interval ends here, which may be behind `end_ns`: it has what is
  // of the trace's end, too.
  std::uint64_t until_ns = ~std::uint64_t{0};
};

// One pass over the trace for each interval, by `read`: so estimates and bounds
// are those of any range. Owners of rows are the times since `begin_ns`.
// `trees`: their runs are set here. Errors: those of `read`, MakeTreeTable().
absl::StatusOr<std::vector<TreeInterval>> TreesOverTime(
    const TreeIntervals& in, std::vector<TreeRequest> trees,
    const std::function<absl::StatusOr<Report>(std::uint64_t from_ns,
                                               std::uint64_t until_ns)>& read);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_TREE_OVER_TIME_H_
