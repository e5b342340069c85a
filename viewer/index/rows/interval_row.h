// Lookups in one row of intervals, each O(log n) plus one block.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_INTERVAL_ROW_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_INTERVAL_ROW_H_

#include <cstdint>
#include <optional>

#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/leaf_block.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

// A half-open stretch of time, ns since the trace began.
struct TimeRange {
  std::uint64_t begin_ns, end_ns;
};

// View of a row; as long-lived as the index. Thread: any.
class IntervalRow {
 public:
  // Requires: rows()[row] holds intervals.
  IntervalRow(const TimelineIndex& index, std::uint32_t row);

  const RowEntry& entry() const { return entry_; }
  std::uint64_t size() const { return entry_.leaves; }
  IntervalLeaf leaf(std::uint64_t number) const { return leaves_.Leaf(number); }
  std::uint64_t extra(std::uint64_t number, std::uint32_t which) const {
    return leaves_.Extra(number, which);
  }
  // The key that a strip shows for a leaf: the process in a CPU row, else the
  // leaf's key.
  std::uint32_t StyleOf(const IntervalLeaf& leaf) const;

  // First leaf that is not over at `time_ns` (a leaf of no length is over just
  // after its instant). `hint`: a leaf at or before it, where the search
  // starts.
  std::uint64_t FirstNotOver(std::uint64_t time_ns,
                             std::uint64_t hint = 0) const;
  // First leaf that begins at or after `time_ns`.
  std::uint64_t FirstBeginning(std::uint64_t time_ns,
                               std::uint64_t hint = 0) const;
  // The leaf that covers the instant `time_ns`, if any.
  std::optional<std::uint64_t> Covering(std::uint64_t time_ns,
                                        std::uint64_t hint = 0) const;

  // Everything inside `range`, leaves cut at its edges. `hint` as above; set to
  // the first leaf touched.
  IntervalNode Summary(TimeRange range, std::uint64_t* hint = nullptr) const;

  struct Cumulative {
    std::uint64_t value;
    bool estimated;  // inside a leaf: its counts are spread evenly over it
  };
  // Sum over the first `leaves` leaves of wall time (`which` = 0) or of extra
  // `which` - 1. Requires: leaves <= size().
  std::uint64_t SumOfFirst(std::uint64_t leaves, std::uint32_t which) const;
  // Sum before `time_ns` of wall time (`which` = 0) or of extra `which` - 1.
  // Wall time is exact.
  Cumulative Before(std::uint64_t time_ns, std::uint32_t which) const;

 private:
  const TimelineIndex& index_;
  const RowEntry& entry_;
  LeafBlocks leaves_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_INTERVAL_ROW_H_
