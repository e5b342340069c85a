// Number of leaves and nodes that this thread's lookups have read: the measure
// for the limit of O(log n) (tests/viewer/state_property_test.cc).
//
// Thread: one counter each. Cost: an addition for each search, not for each
// leaf.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_VISIT_COUNT_H_
#define COUNTRACE_VIEWER_INDEX_FILE_VISIT_COUNT_H_

#include <cstdint>

namespace countrace::viewer {

inline std::uint64_t& VisitCount() {
  thread_local std::uint64_t visits = 0;
  return visits;
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_VISIT_COUNT_H_
