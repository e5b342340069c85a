// `report --bounds`: the interval of each number that is not exact, as text.
#ifndef COUNTRACE_RMAP_REPORT_BOUNDS_TEXT_H_
#define COUNTRACE_RMAP_REPORT_BOUNDS_TEXT_H_

#include <string>
#include <vector>

#include "rmap/columns/report_by.h"
#include "rmap/report/render_options.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// One table for each of `tables` that has such numbers.
std::string BoundsText(const Report& report,
                       const std::vector<ReportBy>& tables,
                       const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_BOUNDS_TEXT_H_
