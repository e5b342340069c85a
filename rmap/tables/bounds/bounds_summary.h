// How wide the bounds of a report are, over the rows of all tables, and why.
#ifndef COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_
#define COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_

#include <cstdint>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

struct BoundsSummary {
  std::uint64_t numbers = 0;        // that are not exact
  std::uint64_t without_limit = 0;  // of these: no upper limit
  // Mean of (hi - lo) / hi over the others, 0 to 1.
  double mean_width = 0;
  bool bounded = false;  // not only estimates
};

BoundsSummary SummaryOfBounds(const Report& report);

// Why numbers of rows are bounded, and what helps; at least one.
struct BoundsReason {
  const char* what;
  const char* remedy;
};
std::vector<BoundsReason> BoundsReasons(const Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_
