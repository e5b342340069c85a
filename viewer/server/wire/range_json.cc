#include "viewer/server/wire/range_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "viewer/server/wire/state_json.h"

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
  return {{"on_cpu_ns", run.on_cpu_ns},
          {"dispatches", run.dispatches},
          {"counts", run.counts},
          {"bounds", RunBoundsJson(run)},
          {"estimated", run.estimated},
          {"incomplete", run.incomplete},
          {"qualities", run.qualities.Names()}};
}

Json SegmentJson(const SegmentTotals& row) {
  Json item = {
      {"process", row.process},
      {"hook", row.hook_id},
      {"calls", row.calls},
      {"wall_incl_ns", row.wall_incl_ns},
      {"wall_excl_ns", row.wall_excl_ns},
      {"mean_ns", row.calls == 0
                      ? Json(nullptr)
                      : Json((row.begun_ns + row.calls / 2) / row.calls)},
      {"on_cpu_incl_ns", nullptr},
      {"on_cpu_excl_ns", nullptr}};
  if (row.on_cpu_known) {
    item["on_cpu_incl_ns"] = row.on_cpu_incl_ns;
    item["on_cpu_excl_ns"] = row.on_cpu_excl_ns;
  }
  item["bounds"] = SegmentBoundsJson(row);
  item["qualities"] = row.qualities.Names();
  return item;
}

Json PathJson(const TimelineIndex& index, const PathTotals& row) {
  std::vector<std::uint32_t> path;
  for (std::uint32_t at = row.path; at != kNoKey;
       at = index.paths()[at].parent) {
    path.push_back(index.paths()[at].key);
  }
  std::reverse(path.begin(), path.end());
  Json item = {{"process", row.process},
               {"path", std::move(path)},
               {"calls", row.calls},
               {"wall_incl_ns", row.wall_incl_ns},
               {"wall_excl_ns", row.wall_excl_ns},
               {"on_cpu_incl_ns", nullptr},
               {"on_cpu_excl_ns", nullptr}};
  if (row.on_cpu_known) {
    item["on_cpu_incl_ns"] = row.on_cpu_incl_ns;
    item["on_cpu_excl_ns"] = row.on_cpu_excl_ns;
  }
  return item;
}

Json HookJson(const HookTotals& row) {
  return {{"process", row.process}, {"hook", row.hook_id}, {"hits", row.hits}};
}

Json ThreadJson(const ThreadTotals& row) {
  Json item = RunJson(row.run);
  item["thread"] = row.thread;
  item["wait_ns"] = row.wait_ns;
  item["blocked_ns"] = row.blocked_ns ? Json(*row.blocked_ns) : Json(nullptr);
  if (!row.wait_limits.IsExact(row.wait_ns)) {
    item["bounds"]["wait_ns"] = LimitsJson(row.wait_limits);
  }
  if (row.blocked_ns && !row.blocked_limits.IsExact(*row.blocked_ns)) {
    item["bounds"]["blocked_ns"] = LimitsJson(row.blocked_limits);
  }
  return item;
}

Json CpuJson(const CpuTotals& row) {
  Json bounds = Json::object();
  const struct {
    const char* name;
    std::uint64_t value;
    const Limits& limits;
  } numbers[] = {{"busy_ns", row.busy_ns, row.busy_limits},
                 {"idle_ns", row.idle_ns, row.idle_limits},
                 {"outside_ns", row.outside_ns, row.outside_limits},
                 {"interrupts_ns", row.interrupts_ns, row.interrupts_limits},
                 {"dispatches", row.dispatches, row.dispatches_limits}};
  for (const auto& [name, value, limits] : numbers) {
    if (!limits.IsExact(value)) bounds[name] = LimitsJson(limits);
  }
  return {{"cpu", row.cpu},
          {"busy_ns", row.busy_ns},
          {"idle_ns", row.idle_ns},
          {"outside_ns", row.outside_ns},
          {"interrupts_ns", row.interrupts_ns},
          {"unknown_ns", row.unknown_ns},
          {"dispatches", row.dispatches},
          {"bounds", std::move(bounds)}};
}

Json WaitRowJson(const WaitRow& row) {
  const auto key = [](std::uint32_t number) {
    return number == kNoKey ? Json(nullptr) : Json(number);
  };
  // The number of stretches has no upper limit where one of them may be two.
  Json bounds = Json::object();
  if (!row.limits.IsExact(row.ns)) {
    bounds = {{"ns", LimitsJson(row.limits)},
              {"times", LimitsJson({0, kUnknownTime})},
              {"longest_ns", LimitsJson({0, row.limits.hi})}};
  }
  return {
      {"process", row.process},
      {"bounds", std::move(bounds)},
      {"state", row.is_blocked() ? "blocked" : "waiting"},
      {"by",
       std::visit(
           [](auto kind) -> const char* {
             if constexpr (std::is_same_v<decltype(kind), rmap::WakerKind>) {
               return rmap::WakerKindName(kind);
             } else {
               return rmap::PreemptorKindName(kind);
             }
           },
           row.by)},
      {"by_thread", key(row.by_thread)},
      {"call", key(row.call)},
      {"times", row.times},
      {"ns", row.ns},
      {"longest",
       {{"thread", row.longest_thread},
        {"begin_ns", row.longest_begin_ns},
        {"end_ns", row.longest_begin_ns + row.longest_ns}}}};
}

}  // namespace countrace::viewer
