// Rows of the tables of a range as JSON (API.md, "aggregate").
#ifndef COUNTRACE_VIEWER_SERVER_RANGE_JSON_H_
#define COUNTRACE_VIEWER_SERVER_RANGE_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "viewer/index/range_totals.h"

namespace countrace::viewer {

nlohmann::json RunJson(const RunTotals& run);
nlohmann::json SegmentJson(const SegmentTotals& row);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_RANGE_JSON_H_
