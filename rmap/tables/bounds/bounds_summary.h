// How wide the bounds of a report are, over the rows of all tables.
#ifndef COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_
#define COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_

#include <cstdint>

#include "rmap/result/tables.h"

namespace countrace::rmap {

struct BoundsSummary {
  std::uint64_t numbers = 0;        // that are not exact
  std::uint64_t without_limit = 0;  // of these: no upper limit
  // Mean of (hi - lo) / hi over the others, 0 to 1.
  double mean_width = 0;
};

BoundsSummary SummaryOfBounds(const Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_BOUNDS_BOUNDS_SUMMARY_H_
