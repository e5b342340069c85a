// The late counts of one row (index_builder.h), added to its leaves in their
// order. Times are absolute.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_LATE_COUNTS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_LATE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/row_spool.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

class LateCountsOfRow {
 public:
  LateCountsOfRow(const RowSpool& spool, const LateCounts& late_counts,
                  const CollectedRow& row);
  void AddTo(const IntervalLeaf& leaf, std::vector<std::uint64_t>& extras);

 private:
  std::vector<LateCount> counts_;
  std::size_t next_ = 0;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_LATE_COUNTS_H_
