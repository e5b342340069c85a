// The table of a tree of rules (`report --tree`), which a report has instead of
// its other tables.
//
// Thread: any (plain values).
#ifndef COUNTRACE_RMAP_RESULT_TREE_TABLE_H_
#define COUNTRACE_RMAP_RESULT_TREE_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rmap/result/bounds.h"

namespace countrace::rmap {

// A node of the tree, for one owner; or, without a share, another rule of its
// file.
struct TreeRow {
  std::string owner;  // "pid=7 comm=work", "0.5 s"; empty: the trace
  std::string code, name, parent, meaning;
  std::uint32_t depth = 0;
  bool in_tree = false;
  std::optional<double> count;  // of events; absent: of several runs
  std::optional<double> share;  // of the root
  // For each unit of the tree's `per`: the CPI. Of another rule, in `unit`.
  std::optional<double> value;
  std::string unit;
  // 95 % interval, or bounds, of `value`; in a comparison, of `change`.
  std::optional<double> lo, hi;
  // value - sum of its children; absent: it has none.
  std::optional<double> rest;
  Quality value_quality = Quality::kExact;
  std::string absent;  // without a value: why
  // For a comparison: value before, value - before, its part of the root's
  // change, and whether noise explains it (diff::VerdictName).
  std::optional<double> before, change, part;
  std::string verdict;
};

struct TreeTable {
  std::string title;  // "cpi: CPI of the POWER5"
  bool has_owners = false, is_change = false;
  std::vector<TreeRow> rows;  // of each owner: a node before those in it
  std::vector<std::string> messages;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_TREE_TABLE_H_
