// The books of the change: that the changes of all rows, and of the accounts
// that are nobody's, add up to the change of the total.
#ifndef COUNTRACE_RMAP_DIFF_BALANCE_H_
#define COUNTRACE_RMAP_DIFF_BALANCE_H_

#include <vector>

#include "rmap/diff/aligned_rows.h"
#include "rmap/diff/diff_tables.h"

namespace countrace::rmap::diff {

// `segments` and `not_in_segments` are summed over `rows`, all else comes from
// the reports' own books. Without books (wall and off-CPU time, events counted
// at hooks only) the total is that of the reports' segments.
Balance BalanceOf(const std::vector<AlignedRow>& rows,
                  const std::vector<Metric>& metrics, std::size_t metric,
                  const std::vector<Report>& before,
                  const std::vector<Report>& after);

}  // namespace countrace::rmap::diff

#endif  // COUNTRACE_RMAP_DIFF_BALANCE_H_
