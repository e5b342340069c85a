// A summary in a line: which segment changed, its part of the change, and which
// counts changed with it.
#ifndef COUNTRACE_RMAP_DIFF_EXPLANATION_H_
#define COUNTRACE_RMAP_DIFF_EXPLANATION_H_

#include <string>
#include <vector>

#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// Reads totals and sorted rows. At most three lines, each for a row with at
// least a tenth of the change (of the largest row's, if the total's is within
// noise); one line if nothing is beyond noise. Last, the change that these runs
// could have shown. With one run each: first, that there is no verdict, and how
// many runs would see a change. Names are not escaped; the renderings escape
// them.
std::vector<std::string> Explain(const Diff& diff);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_EXPLANATION_H_
