// How far the truth may lie from the times of a CPU: the report's bounds,
// besides its unattributed time. In: a report's rows. Out: section kCpuLimits.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_CPU_LIMITS_H_
#define COUNTRACE_VIEWER_INDEX_FILE_CPU_LIMITS_H_

#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Of CPUs whose times are not exact, by number.
std::vector<CpuLimits> CpuLimitsBy(const rmap::Report& report);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_CPU_LIMITS_H_
