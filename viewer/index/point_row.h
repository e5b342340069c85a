// Lookups in the point hooks of one thread: counts by two binary searches.
#ifndef COUNTRACE_VIEWER_INDEX_POINT_ROW_H_
#define COUNTRACE_VIEWER_INDEX_POINT_ROW_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "viewer/index/timeline_index.h"
#include "viewer/index/visit_count.h"

namespace countrace::viewer {

class PointRow {
 public:
  // Requires: rows()[row] is of RowKind::kHook.
  PointRow(const TimelineIndex& index, std::uint32_t row)
      : points_(index.At<PointLeaf>(index.rows()[row].leaf_offset),
                index.rows()[row].leaves) {}
  std::span<const PointLeaf> points() const { return points_; }
  // First point at or after `time_ns`, from `hint` on.
  std::uint64_t FirstAt(std::uint64_t time_ns, std::uint64_t hint = 0) const {
    const auto from =
        points_.begin() + static_cast<std::ptrdiff_t>(
                              std::min<std::uint64_t>(hint, points_.size()));
    return static_cast<std::uint64_t>(
        std::lower_bound(from, points_.end(), time_ns,
                         [](const PointLeaf& point, std::uint64_t time) {
                           ++VisitCount();
                           return point.time_ns < time;
                         }) -
        points_.begin());
  }

 private:
  std::span<const PointLeaf> points_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_POINT_ROW_H_
