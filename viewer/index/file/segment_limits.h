// How far the truth may lie from what an index has of the calls of a segment:
// the bounds of the report's paths, against the sums of the index's leaves. In:
// a report's rows. Out: section kSegmentLimits. Thread: any.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_SEGMENT_LIMITS_H_
#define COUNTRACE_VIEWER_INDEX_FILE_SEGMENT_LIMITS_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

class SegmentSums {
 public:
  using Sums = std::array<std::uint64_t, kSegmentFields>;

  // The sums of a hook in a process. Exclusive sums may be below zero for a
  // while.
  Sums& Of(std::uint32_t process, std::uint32_t hook_id) {
    return sums_[{process, hook_id}];
  }
  // Those that are not exact.
  std::vector<SegmentLimits> LimitsBy(const rmap::Report& report,
                                      const logformat::TraceInfo& info) const;

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sums> sums_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_SEGMENT_LIMITS_H_
