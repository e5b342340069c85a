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

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

// "": it is exact.
const char* MarkText(CountMark mark) {
  return mark == CountMark::kExact     ? ""
         : mark == CountMark::kAbout   ? "~"
         : mark == CountMark::kUnknown ? ""
                                       : ">=";
}

template <typename Row>
Json CallsJson(const Row& row) {
  return {{"process", row.process},
          {"calls", row.calls},
          {"wall_ns", {{"incl", row.wall_incl_ns}, {"excl", row.wall_excl_ns}}},
          {"on_cpu_ns", row.on_cpu_known
                            ? Json::object({{"incl", row.on_cpu_incl_ns},
                                            {"excl", row.on_cpu_excl_ns}})
                            : Json(nullptr)}};
}

}  // namespace

Json RunJson(const RunTotals& run) {
  Json marks = Json::array();
  Json counts = run.counts;
  for (std::size_t i = 0; i < run.marks.size(); ++i) {
    marks.push_back(MarkText(run.marks[i]));
    if (run.marks[i] == CountMark::kUnknown) counts[i] = nullptr;
  }
  return {{"on_cpu_ns", run.on_cpu_ns},   {"dispatches", run.dispatches},
          {"counts", std::move(counts)},  {"marks", std::move(marks)},
          {"incomplete", run.incomplete}, {"qualities", run.qualities.Names()}};
}

void PutBounds(const rmap::EventColumns& events, const rmap::RowBounds& bounds,
               Json& item) {
  for (const auto& [number, limits] : bounds.entries()) {
    item["bounds"][rmap::NumberName(events, number)] = {
        limits.lo,
        limits.hi == rmap::Bounds::kNone ? Json(nullptr) : Json(limits.hi)};
  }
}

Json ProcessJson(const ProcessTotals& row) {
  Json item = RunJson(row.run);
  item["process"] = row.process;
  return item;
}

Json SegmentJson(const SegmentTotals& row) {
  Json item = CallsJson(row);
  item["hook"] = row.hook_id;
  item["wall_ns"]["mean"] =
      row.calls == 0 ? Json(nullptr)
                     : Json((row.begun_ns + row.calls / 2) / row.calls);
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
  Json item = CallsJson(row);
  item["path"] = std::move(path);
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
  return item;
}

Json CpuJson(const rmap::CpuRow& row) {
  return {{"cpu", row.cpu},
          {"wall_ns", row.wall_ns},
          {"busy_ns", row.busy_ns},
          {"idle_ns", row.idle_ns},
          {"outside_ns", row.outside_ns},
          {"interrupts_ns", row.interrupts_ns},
          {"unattributed_ns", row.unattributed_ns},
          {"dispatches", row.dispatches},
          {"qualities", row.qualities.Names()}};
}

Json WaitRowJson(const WaitRow& row) {
  const auto key = [](std::uint32_t number) {
    return number == kNoKey ? Json(nullptr) : Json(number);
  };
  return {
      {"process", row.process},
      {"qualities", row.qualities.Names()},
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
