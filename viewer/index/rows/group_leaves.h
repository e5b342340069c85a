// The numbers of the leaves of a group, in time order.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_GROUP_LEAVES_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_GROUP_LEAVES_H_

#include <algorithm>
#include <cstdint>

#include "viewer/index/file/packed_block.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

inline constexpr PackedShape kPostingShape{.fields = 1, .derived = 1};

class GroupLeaves {
 public:
  // Requires: group.count != 0.
  GroupLeaves(const TimelineIndex& index, const GroupEntry& group)
      : size_(group.count),
        last_(index.rows()[group.row].leaves - 1),
        numbers_(index.bytes(), index.At<std::uint64_t>(group.posting_offset),
                 kPostingShape) {}
  std::uint64_t size() const { return size_; }
  // A leaf of the group's row, also in a damaged index.
  std::uint64_t operator[](std::uint64_t posting) const {
    return std::min(numbers_.Value(posting, 0), last_);
  }

 private:
  std::uint64_t size_, last_;
  PackedBlocks numbers_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_GROUP_LEAVES_H_
