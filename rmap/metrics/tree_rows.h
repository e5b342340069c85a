// The rows of a tree of rules: each node's count, its share of the root, and
// its part of the value that the tree explains (the CPI).
#ifndef COUNTRACE_RMAP_METRICS_TREE_ROWS_H_
#define COUNTRACE_RMAP_METRICS_TREE_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/metrics/evaluator.h"
#include "rmap/metrics/metric_rows.h"
#include "rmap/result/tree_table.h"

namespace countrace::rmap::metrics {

struct TreeRequest {
  const RuleSet* rules = nullptr;  // checked
  std::string tree;
  // Several (in the table of the trace) counted different events and are
  // joined: the first that has an event stands for it, by ratio to its total.
  std::vector<NamedReport> runs;
  Scope scope = Scope::kTrace;
  const RowSelection* selection = nullptr;  // null: every row
  std::string owner;                        // of the trace: "0.5 s"
};

// Rows by owner, the tree's nodes before the other rules of its file. Errors:
// kInvalidArgument: no such tree.
absl::StatusOr<TreeTable> MakeTreeTable(const TreeRequest& request);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_TREE_ROWS_H_
