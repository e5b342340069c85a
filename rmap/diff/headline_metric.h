// The metric that a comparison leads with: the head line is about it, and rows
// are sorted by it.
#ifndef COUNTRACE_RMAP_DIFF_HEADLINE_METRIC_H_
#define COUNTRACE_RMAP_DIFF_HEADLINE_METRIC_H_

#include <string>

#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// "on-CPU" or "wall", from the totals: the one that changed. If both did,
// on-CPU time, unless wall time changed by clearly more, both in relation to
// itself and in ns: then waiting is what changed.
std::string HeadlineMetric(const Diff& diff);

// log(after / before), which has the same size for a change and for its
// reverse. Far from 0 if one of them is not positive.
double LogRatio(double before, double after);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_HEADLINE_METRIC_H_
