// The order of call paths as a tree: each path after the one that it is in.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_CALL_TREE_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_CALL_TREE_H_

#include <cstddef>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::viewer {

struct TreePlace {
  std::size_t row;   // number in the rows
  bool has_callees;  // rows below it follow
};

// Processes by the time in their segments, heaviest first; in a process, and in
// a path, those first whose calls took most time. Where the path that one is in
// has no row, it comes after the nearest that has.
std::vector<TreePlace> TreeOrder(const std::vector<rmap::SegmentRow>& rows);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_CALL_TREE_H_
