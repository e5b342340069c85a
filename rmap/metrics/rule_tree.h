// Rules that nest (`parent = "stall"`): trees of counts, of which each node is
// a part of its parent. The root names the tree, and what its parts are
// divided by:
//
//   [metric.run_cycles]
//   tree = "cpi"
//   expr = "`PM_RUN_CYC`"
//   per = "completed"       # another metric: instructions
//   [metric.stall]
//   parent = "run_cycles"
//   code = "C"
//   expr = "..."
#ifndef COUNTRACE_RMAP_METRICS_RULE_TREE_H_
#define COUNTRACE_RMAP_METRICS_RULE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/metrics/rule_set.h"

namespace countrace::rmap::metrics {

struct RuleTree {
  struct Node {
    std::size_t rule = 0;
    std::size_t parent = 0;  // of `nodes`; the root's is 0
    std::uint32_t depth = 0;
  };
  std::vector<Node> nodes;  // the root first, a node before those in it
  std::size_t per = 0;      // the rule
};

// Requires: the rules are checked (RuleSet::Check). Errors: kInvalidArgument:
// no such tree; of any tree, those of ErrorAt(): a parent or `per` that is no
// metric, a circle, a root without a tree, a node that is no count.
absl::StatusOr<RuleTree> FindTree(const RuleSet& rules, std::string_view name);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_RULE_TREE_H_
