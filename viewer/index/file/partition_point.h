// Binary search over numbers: rows are not arrays in memory.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_PARTITION_POINT_H_
#define COUNTRACE_VIEWER_INDEX_FILE_PARTITION_POINT_H_

#include <cstdint>

#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {

// First number in [begin, end) for which the predicate is false, or `end`.
template <typename IsBefore>
std::uint64_t PartitionPoint(std::uint64_t begin, std::uint64_t end,
                             IsBefore is_before) {
  while (begin < end) {
    ++VisitCount();
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (is_before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_PARTITION_POINT_H_
