// The books of the change: the changes of all rows, and of the accounts outside
// processes, add up to the change of the total.
#ifndef COUNTRACE_RMAP_DIFF_BALANCE_H_
#define COUNTRACE_RMAP_DIFF_BALANCE_H_

#include <vector>

#include "rmap/diff/aligned_rows.h"
#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// `segments` and `not_in_segments` are sums over `rows`; the rest comes from
// the reports' books. Without books (wall and off-CPU time, events counted at
// hooks only) the total is the sum over the reports' segments.
Balance BalanceOf(const std::vector<AlignedRow>& rows,
                  const std::vector<Metric>& metrics, std::size_t metric,
                  const std::vector<Report>& before,
                  const std::vector<Report>& after);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_BALANCE_H_
