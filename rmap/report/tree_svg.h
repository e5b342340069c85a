// A tree of rules as a picture (SVG 1.1, no scripts, no fonts of its own).
#ifndef COUNTRACE_RMAP_REPORT_TREE_SVG_H_
#define COUNTRACE_RMAP_REPORT_TREE_SVG_H_

#include <string>

#include "rmap/result/tree_table.h"

namespace countrace::rmap {

// A bar for each node, with its interval. Of several owners (--by): a column
// for each, of the parts that have none below, one upon the other; what is
// below zero hangs down. A part without a value is named, never drawn as 0.
// Requires: no comparison.
std::string RenderTreeSvg(const TreeTable& tree);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_TREE_SVG_H_
