// Lookups in the point hooks of one thread: counts by two binary searches.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_POINT_ROW_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_POINT_ROW_H_

#include <algorithm>
#include <cstdint>

#include "viewer/index/file/packed_block.h"
#include "viewer/index/file/partition_point.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

enum PointField : std::uint32_t { kPointTime, kPointKey };
inline constexpr PackedShape kPointShape{.fields = 2, .derived = 2};

class PointRow {
 public:
  // Requires: rows()[row] is of RowKind::kHook.
  PointRow(const TimelineIndex& index, std::uint32_t row)
      : size_(index.rows()[row].leaves),
        points_(index.bytes(),
                index.At<std::uint64_t>(index.rows()[row].leaf_offset),
                kPointShape) {}
  std::uint64_t size() const { return size_; }
  std::uint64_t Time(std::uint64_t number) const {
    return points_.Value(number, kPointTime);
  }
  std::uint32_t Key(std::uint64_t number) const {
    return static_cast<std::uint32_t>(points_.Value(number, kPointKey));
  }
  // First point at or after `time_ns`, from `hint` on.
  std::uint64_t FirstAt(std::uint64_t time_ns, std::uint64_t hint = 0) const {
    return PartitionPoint(
        std::min(hint, size_), size_,
        [&](std::uint64_t number) { return Time(number) < time_ns; });
  }

 private:
  std::uint64_t size_;
  PackedBlocks points_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_POINT_ROW_H_
