// The waits of a thread that lie between its dispatches, while its row is
// written. Times are absolute.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_DISPATCH_GAPS_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_DISPATCH_GAPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/row_spool.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

class DispatchGaps {
 public:
  // Requires: `run` is one of the sorted `rows`.
  DispatchGaps(const RowSpool& spool, std::span<const CollectedRow> rows,
               const CollectedRow& run);
  // Time between the dispatch of the last call and `leaf` in which the thread
  // was blocked; 0 if that is not known.
  std::uint64_t BlockedBefore(const IntervalLeaf& leaf);

 private:
  std::unique_ptr<RowCursor> waits_;
  const std::byte* next_ = nullptr;
  std::uint64_t last_end_ns_ = 0;
  bool blocks_ = false;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_DISPATCH_GAPS_H_
