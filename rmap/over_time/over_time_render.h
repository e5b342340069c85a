// A TimeSeries and its phases as text with a bar, JSON, JSON lines and CSV.
#ifndef COUNTRACE_RMAP_OVER_TIME_OVER_TIME_RENDER_H_
#define COUNTRACE_RMAP_OVER_TIME_OVER_TIME_RENDER_H_

#include <string>
#include <vector>

#include "rmap/over_time/over_time.h"
#include "rmap/over_time/phases.h"
#include "rmap/report/report_render.h"

namespace countrace::rmap {

// RenderOptions::by is not used.
std::string RenderOverTime(const TimeSeries& series,
                           const RenderOptions& options);
std::string RenderPhases(const TimeSeries& series,
                         const std::vector<Feature>& features,
                         const std::vector<Phase>& phases,
                         const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_OVER_TIME_OVER_TIME_RENDER_H_
