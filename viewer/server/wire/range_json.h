// Rows of the tables of a range as JSON (API.md, "aggregate").
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_

#include <nlohmann/json.hpp>
#include <type_traits>

#include "viewer/index/range/cpu_totals.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/range/wait_totals.h"

namespace countrace::viewer {

nlohmann::json RunJson(const RunTotals& run);
// `bounds` of a row of a report.
void PutBounds(const rmap::EventColumns& events, const rmap::RowBounds& bounds,
               nlohmann::json& item);
nlohmann::json ProcessJson(const ProcessTotals& row);
nlohmann::json SegmentJson(const SegmentTotals& row);
nlohmann::json PathJson(const TimelineIndex& index, const PathTotals& row);
nlohmann::json HookJson(const HookTotals& row);
nlohmann::json ThreadJson(const ThreadTotals& row);
nlohmann::json CpuJson(const rmap::CpuRow& row);
nlohmann::json WaitRowJson(const WaitRow& row);

// With the limits that the row of a report has.
template <typename Row>
nlohmann::json WithBounds(const rmap::EventColumns& events, const Row& row,
                          nlohmann::json item) {
  const rmap::RowBounds* bounds = nullptr;
  if constexpr (requires { row.run; }) {
    bounds = row.run.bounds;
  } else if constexpr (std::is_same_v<Row, rmap::CpuRow>) {
    bounds = &row.bounds;
  } else if constexpr (requires { row.bounds; }) {
    bounds = row.bounds;
  }
  if (bounds != nullptr) PutBounds(events, *bounds, item);
  return item;
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_RANGE_JSON_H_
