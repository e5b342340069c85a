// The answer in a line: which segment changed, how much of the change it is,
// and which counts changed with it.
#ifndef COUNTRACE_RMAP_DIFF_EXPLANATION_H_
#define COUNTRACE_RMAP_DIFF_EXPLANATION_H_

#include <string>
#include <vector>

#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// The metric that the comparison is about: on-CPU time if its total changed
// beyond noise, else wall time if that did, else on-CPU time if it is known.
std::string HeadlineMetric(const Diff& diff);

// Reads totals and sorted rows. At most three lines, each of a row that is at
// least a tenth of the change (of the largest row, if that of the total is
// within noise); one that says so if nothing is beyond noise.
// Names as in the trace: the renderings escape them.
std::vector<std::string> Explain(const Diff& diff);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_EXPLANATION_H_
