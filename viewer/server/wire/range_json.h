// Rows of the tables of a range as JSON (API.md, "aggregate").
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "viewer/index/range/cpu_totals.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/range/wait_totals.h"

namespace countrace::viewer {

nlohmann::json RunJson(const RunTotals& run);
nlohmann::json SegmentJson(const SegmentTotals& row);
nlohmann::json PathJson(const TimelineIndex& index, const PathTotals& row);
nlohmann::json HookJson(const HookTotals& row);
nlohmann::json ThreadJson(const ThreadTotals& row);
nlohmann::json CpuJson(const rmap::CpuRow& row);
nlohmann::json WaitRowJson(const WaitRow& row);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_
