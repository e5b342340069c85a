#include "viewer/server/range_json.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "viewer/server/state_json.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

Json RunBoundsJson(const RunTotals& run) {
  Json bounds = Json::object();
  if (!run.on_cpu_limits.IsExact(run.on_cpu_ns)) {
    bounds["on_cpu_ns"] = LimitsJson(run.on_cpu_limits);
  }
  if (!run.dispatches_limits.IsExact(run.dispatches)) {
    bounds["dispatches"] = LimitsJson(run.dispatches_limits);
  }
  for (std::size_t i = 0; i < run.count_limits.size(); ++i) {
    if (run.count_limits[i].IsExact(run.counts[i])) continue;
    bounds["counts." + std::to_string(i)] = LimitsJson(run.count_limits[i]);
  }
  return bounds;
}

Json SegmentBoundsJson(const SegmentTotals& row) {
  const std::pair<const char*, std::uint64_t> numbers[kSegmentFields] = {
      {"calls", row.calls},
      {"wall_incl_ns", row.wall_incl_ns},
      {"wall_excl_ns", row.wall_excl_ns},
      {"on_cpu_incl_ns", row.on_cpu_incl_ns},
      {"on_cpu_excl_ns", row.on_cpu_excl_ns}};
  Json bounds = Json::object();
  for (std::size_t i = 0; i < kSegmentFields; ++i) {
    const auto& [name, value] = numbers[i];
    if (!row.limits[i].IsExact(value)) {
      bounds[name] = LimitsJson(row.limits[i]);
    }
  }
  return bounds;
}

}  // namespace

Json RunJson(const RunTotals& run) {
  return {{"on_cpu_ns", run.on_cpu_ns}, {"dispatches", run.dispatches},
          {"counts", run.counts},       {"bounds", RunBoundsJson(run)},
          {"estimated", run.estimated}, {"incomplete", run.incomplete}};
}

Json SegmentJson(const SegmentTotals& row) {
  Json item = {{"process", row.process},
               {"hook", row.hook_id},
               {"calls", row.calls},
               {"wall_incl_ns", row.wall_incl_ns},
               {"wall_excl_ns", row.wall_excl_ns},
               {"on_cpu_incl_ns", nullptr},
               {"on_cpu_excl_ns", nullptr}};
  if (row.on_cpu_known) {
    item["on_cpu_incl_ns"] = row.on_cpu_incl_ns;
    item["on_cpu_excl_ns"] = row.on_cpu_excl_ns;
  }
  item["bounds"] = SegmentBoundsJson(row);
  return item;
}

}  // namespace countrace::viewer
