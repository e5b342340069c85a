#include "viewer/index/file/segment_limits.h"

#include <algorithm>
#include <optional>
#include <string>

#include "viewer/index/file/row_limits.h"

namespace countrace::viewer {
namespace {

using rmap::Number;

struct Field {
  Number number;
  std::optional<std::uint64_t> value;
};

std::array<Field, kSegmentFields> FieldsOf(const rmap::SegmentRow& row) {
  std::array<Field, kSegmentFields> fields = {
      {{Number::kCalls, row.calls},
       {Number::kWallIncl, row.wall.incl},
       {Number::kWallExcl, row.wall.excl},
       {Number::kOnCpuIncl, std::nullopt},
       {Number::kOnCpuExcl, std::nullopt}}};
  if (row.on_cpu) {
    fields[kSegmentOnCpuIncl].value = row.on_cpu->incl;
    fields[kSegmentOnCpuExcl].value = row.on_cpu->excl;
  }
  return fields;
}

}  // namespace

std::vector<SegmentLimits> SegmentSums::LimitsBy(
    const rmap::Report& report, const logformat::TraceInfo& info) const {
  std::map<std::string, std::uint32_t> ids;
  for (const logformat::HookInfo& hook : info.hooks) {
    ids.try_emplace(hook.FullName(), hook.id);
  }
  using Interval = std::array<Limits, kSegmentFields>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Interval> intervals;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> calls_of;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> inferred;
  for (const rmap::SegmentRow& row : report.segments) {
    const auto id = ids.find(row.segment);
    if (row.pid == 0 || id == ids.end()) continue;
    if (row.qualities.Has(rmap::Quality::kInferred) &&
        row.begin_inferred + row.end_inferred == 0) {
      inferred[{static_cast<std::uint32_t>(row.process), id->second}] = true;
    }
  }
  for (const rmap::SegmentRow& row : report.segment_paths) {
    const auto id = ids.find(row.segment);
    if (row.pid == 0 || id == ids.end()) continue;
    Interval& sum =
        intervals[{static_cast<std::uint32_t>(row.process), id->second}];
    calls_of[{static_cast<std::uint32_t>(row.process), id->second}] +=
        row.calls;
    const auto fields = FieldsOf(row);
    // The inclusive times of a segment are of its outermost calls.
    const bool inner =
        std::count(row.path.begin(), row.path.end(), row.segment) > 1;
    for (std::size_t i = 0; i < kSegmentFields; ++i) {
      if (inner && (i == kSegmentWallIncl || i == kSegmentOnCpuIncl)) continue;
      const auto bounds = row.bounds.Of(fields[i].number);
      const std::uint64_t value = fields[i].value.value_or(0);
      sum[i].lo += bounds ? bounds->lo : value;
      sum[i].hi = AtMost(sum[i].hi, bounds ? bounds->hi : value);
    }
  }
  std::vector<SegmentLimits> limits;
  for (const auto& [key, interval] : intervals) {
    const auto found = sums_.find(key);
    const Sums sums = found == sums_.end() ? Sums{} : found->second;
    const std::uint64_t calls = calls_of.at(key);
    SegmentLimits entry{
        .process = key.first,
        .hook_id = key.second,
        .less = {},
        .more = {},
        .unplaced_calls = calls - std::min(calls, sums[kSegmentCalls]),
        .inferred = inferred.contains(key) ? 1u : 0u};
    bool exact = entry.inferred == 0;
    for (std::size_t i = 0; i < kSegmentFields; ++i) {
      entry.less[i] = sums[i] - std::min(sums[i], interval[i].lo);
      entry.more[i] = interval[i].hi == kUnknownTime
                          ? kUnknownTime
                          : interval[i].hi - std::min(interval[i].hi, sums[i]);
      exact &= entry.less[i] == 0 && entry.more[i] == 0;
    }
    if (!exact) limits.push_back(entry);
  }
  return limits;
}

}  // namespace countrace::viewer
