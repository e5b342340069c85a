// What a process or a thread may lack in the whole trace, it may lack in a
// range, but no more than is unknown there.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_RUN_LIMITS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_RUN_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "viewer/index/limits/unseen_counts.h"
#include "viewer/index/range/run_totals.h"

namespace countrace::viewer {

// Also adds to a range that is the whole trace (`whole`) what the report has
// more than the row's dispatches: at times that are not known, so it is in no
// other range.
//
// `limit` has the row's LimitStride() values; `most_ns` is the time that it can
// be on CPUs in the range at most, of which `unknown_ns` have no known
// occupant.
//
// Sets the qualities `scaled` and `bounded`; events whose sets take turns by
// `in_turns`.
void SetRowLimits(const std::function<std::uint64_t(std::size_t)>& limit,
                  std::uint64_t most_ns, std::uint64_t unknown_ns,
                  const UnseenCounts& unseen,
                  const std::function<bool(std::uint32_t)>& in_turns,
                  bool whole, RunTotals& run);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_RUN_LIMITS_H_
