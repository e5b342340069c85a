// The calls in samples as a tree: from the outermost function inwards, or from
// one function to those that call it.
//
// In: Samples. Out: rows, each behind its parent. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_

#include <string>

#include "rmap/result/sample_table.h"
#include "rmap/result/samples.h"
#include "rmap/samples/rows/place_rows.h"

namespace countrace::rmap {

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

// Rows by event and group, the largest child first.
SampleTable MakeCallTree(const Samples& samples,
                         const CallTreeRequest& request);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_CALL_TREE_H_
