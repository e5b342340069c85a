#include "viewer/server/tables/catalog_items.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "rmap/result/tables.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

Json OrNull(std::uint64_t value_ns) {
  return value_ns == kUnknownTime ? Json(nullptr) : Json(value_ns);
}
std::uint64_t OrZero(std::uint64_t value_ns) {
  return value_ns == kUnknownTime ? 0 : value_ns;
}

// Quality of a row's `listed` (file_layout.h), for any value in a damaged file.
const char* QualityOf(std::uint32_t listed) {
  return listed >= 1 &&
                 listed <= 1u + static_cast<unsigned>(rmap::Quality::kInferred)
             ? rmap::QualityName(static_cast<rmap::Quality>(listed - 1))
             : "unknown";
}

}  // namespace

const char* RowKindName(RowKind kind) {
  switch (kind) {
    case RowKind::kQuality:
      return "quality";
    case RowKind::kCpu:
      return "cpu";
    case RowKind::kThreadRun:
      return "run";
    case RowKind::kHook:
      return "hook";
    case RowKind::kSegment:
      return "segment";
    case RowKind::kInterruptTime:
      return "interrupts";
    case RowKind::kInterrupt:
      return "handler";
    case RowKind::kLevel:
      return "level";
    default:
      return "other";
  }
}

bool IsDrawn(RowKind kind) {
  return kind < RowKind::kIdleRun || kind == RowKind::kInterrupt ||
         kind == RowKind::kInterruptTime || kind == RowKind::kLevel;
}

Json ProcessItemJson(const TimelineIndex& index, std::uint32_t process,
                     const std::vector<bool>& hooked) {
  const ProcessEntry& entry = index.processes()[process];
  if (entry.listed == 0) return nullptr;
  return {{"process", process},
          {"pid", entry.pid},
          {"parent_pid", entry.parent_pid},
          {"comm", index.Text(entry.comm)},
          {"on_cpu_ns", OrNull(entry.on_cpu_ns)},
          {"quality", QualityOf(entry.listed)},
          {"hooked", static_cast<bool>(hooked[process])},
          {"in_scope", entry.in_scope != 0}};
}

Json ThreadItemJson(const TimelineIndex& index, std::uint32_t thread) {
  const ThreadEntry& entry = index.threads()[thread];
  if (entry.listed == 0) return nullptr;
  return {{"thread", thread},
          {"tid", entry.tid},
          {"pid", entry.pid},
          {"process", entry.process},
          {"comm", index.Text(entry.comm)},
          {"on_cpu_ns", OrNull(entry.on_cpu_ns)},
          {"quality", QualityOf(entry.listed)}};
}

Json RowItemJson(const TimelineIndex& index, std::uint32_t row) {
  const RowEntry& entry = index.rows()[row];
  Json item = {{"row", row},
               {"kind", RowKindName(entry.kind)},
               {"owner", entry.owner},
               {"depth", entry.depth},
               {"leaves", entry.leaves}};
  if (entry.kind == RowKind::kLevel) {
    item["of"] = (entry.flags & kRowOfThread) != 0    ? "thread"
                 : (entry.flags & kRowOfProcess) != 0 ? "process"
                                                      : "machine";
  }
  return item;
}

std::vector<std::uint32_t> LevelRows(const TimelineIndex& index) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_time;
  for (std::uint32_t row = 0; row < index.rows().size(); ++row) {
    const RowEntry& entry = index.rows()[row];
    if (entry.kind != RowKind::kLevel) continue;
    // Like the report, not of a process that is not counted.
    const bool unlisted =
        (entry.flags & kRowOfThread) != 0
            ? entry.owner >= index.threads().size() ||
                  index.threads()[entry.owner].listed == 0
            : (entry.flags & kRowOfProcess) != 0 &&
                  (entry.owner >= index.processes().size() ||
                   index.processes()[entry.owner].listed == 0);
    if (unlisted) continue;
    const IntervalNode all =
        IntervalRow(index, row).Summary({0, index.header().duration_ns});
    by_time.emplace_back(~all.busy_ns, row);
  }
  std::sort(by_time.begin(), by_time.end());
  std::vector<std::uint32_t> rows(by_time.size());
  std::transform(by_time.begin(), by_time.end(), rows.begin(),
                 [](const auto& one) { return one.second; });
  return rows;
}

std::vector<std::uint32_t> ProcessesByWeight(const TimelineIndex& index) {
  std::vector<std::uint32_t> order(index.processes().size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](std::uint32_t process) {
    return index.processes()[process].listed == 0;
  });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return OrZero(index.processes()[a].on_cpu_ns) >
                            OrZero(index.processes()[b].on_cpu_ns);
                   });
  return order;
}

Json HuesJson(const TimelineIndex& index, std::size_t count) {
  std::map<std::string_view, std::uint64_t> by_name;
  std::vector<std::string_view> names;  // that of the heaviest process first
  for (const std::uint32_t process : ProcessesByWeight(index)) {
    const ProcessEntry& entry = index.processes()[process];
    const auto [found, added] = by_name.try_emplace(index.Text(entry.comm), 0);
    if (added) names.push_back(found->first);
    found->second += OrZero(entry.on_cpu_ns);
  }
  std::stable_sort(names.begin(), names.end(),
                   [&](std::string_view a, std::string_view b) {
                     return by_name[a] > by_name[b];
                   });
  if (names.size() > count) names.resize(count);
  std::map<std::string_view, char> letters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    letters[names[i]] = static_cast<char>('a' + i);
  }
  std::string of(index.processes().size(), '.');
  for (std::size_t process = 0; process < of.size(); ++process) {
    const ProcessEntry& entry = index.processes()[process];
    if (entry.listed == 0) continue;
    const auto letter = letters.find(index.Text(entry.comm));
    if (letter != letters.end()) of[process] = letter->second;
  }
  return {{"names", names}, {"of", std::move(of)}};
}

}  // namespace countrace::viewer
