// The calls in samples as a tree: from the outermost function inwards, or from
// one function to those that call it.
//
// In: Samples. Out: rows, each behind its parent. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/rows/place_rows.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {

struct CallTreeRow {
  std::uint32_t event = 0;  // of Samples::events
  std::uint32_t group = 0;  // SampleChoice::groups
  std::uint32_t depth = 0;
  std::string function, dso;
  bool inlined = false;
  // The samples in which the path to here was the whole stack (of callers: in
  // which it began there), and all of its samples.
  SampledAmount self, total;
};

struct CallTreeRequest {
  bool callers = false;  // from the inside out
  // Glob on functions. Of calls: the tree begins at the outermost frame of that
  // name; of callers, at the innermost. Empty: whole stacks.
  std::string function = {};
  SampleChoice choice = {};  // each group has trees of its own
  // A function that calls itself is one level: a > b > b is a > b.
  bool fold_recursion = false;
  double least_share = 0;  // rows with a smaller total are left out
};

struct CallTree {
  std::vector<CallTreeRow> rows;  // by event, group; the largest child first
  std::uint64_t left_out = 0;     // rows below `least_share`
  std::vector<std::string> messages;
};

CallTree MakeCallTree(const Samples& samples, const CallTreeRequest& request);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_
