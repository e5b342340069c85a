#include "viewer/index/range/rare_events.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/index/file/partition_point.h"
#include "viewer/index/rows/group_leaves.h"
#include "viewer/index/rows/point_row.h"

namespace countrace::viewer {
namespace {

// Collects hits into columns of equal width.
class Columns {
 public:
  Columns(TimeRange range, std::size_t columns)
      : range_(range),
        width_ns_(std::max<std::uint64_t>(
            (range.end_ns - range.begin_ns + columns - 1) / columns, 1)) {}

  bool Add(std::uint64_t time_ns, std::uint32_t thread) {
    if (++hits_ > kMaxHits) return false;
    const std::uint64_t at = (time_ns - range_.begin_ns) / width_ns_;
    const auto [found, fresh] =
        columns_.try_emplace(at, HitsColumn{time_ns, thread, 0});
    HitsColumn& column = found->second;
    if (time_ns < column.first_ns) column = {time_ns, thread, column.hits};
    ++column.hits;
    return true;
  }
  std::vector<HitsColumn> Take() const {
    std::vector<HitsColumn> columns;
    for (const auto& [at, column] : columns_) columns.push_back(column);
    return columns;
  }

 private:
  const TimeRange range_;
  const std::uint64_t width_ns_;
  std::uint64_t hits_ = 0;
  std::map<std::uint64_t, HitsColumn> columns_;
};

}  // namespace

std::vector<LongestCall> LongestCalls(const TimelineIndex& index) {
  std::map<std::uint32_t, TimedCall> longest;
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    if (index.rows()[number].kind != RowKind::kSegment) continue;
    const IntervalRow row(index, number);
    for (std::uint64_t i = 0; i < row.size(); ++i) {
      const IntervalLeaf& leaf = row.leaf(i);
      if ((leaf.flags & kLeafBeginInferred) != 0) continue;
      const TimedCall call{
          row.entry().owner,
          {leaf.begin_ns, std::max(leaf.begin_ns, leaf.end_ns)}};
      const auto [found, fresh] = longest.try_emplace(leaf.key, call);
      if (!fresh && call.ns() > found->second.ns()) found->second = call;
    }
  }
  std::vector<LongestCall> calls;
  for (const auto& [hook, call] : longest) calls.push_back({hook, call});
  std::stable_sort(
      calls.begin(), calls.end(),
      [](const auto& a, const auto& b) { return a.call.ns() > b.call.ns(); });
  return calls;
}

absl::StatusOr<std::vector<HitsColumn>> HitsIn(const TimelineIndex& index,
                                               std::uint32_t hook,
                                               TimeRange range,
                                               std::size_t columns) {
  Columns found(range, columns);
  for (const GroupEntry& group : index.groups()) {
    if (group.key != hook || group.count == 0) continue;
    const RowEntry& entry = index.rows()[group.row];
    const GroupLeaves leaves(index, group);
    const auto time_of = [&](std::uint64_t posting) {
      return entry.kind == RowKind::kHook
                 ? PointRow(index, group.row).Time(leaves[posting])
                 : IntervalRow(index, group.row).leaf(leaves[posting]).begin_ns;
    };
    std::uint64_t at =
        PartitionPoint(0, leaves.size(), [&](std::uint64_t posting) {
          return time_of(posting) < range.begin_ns;
        });
    for (; at != leaves.size(); ++at) {
      const std::uint64_t time_ns = time_of(at);
      // A damaged index may have any order.
      if (time_ns < range.begin_ns || time_ns >= range.end_ns) break;
      if (!found.Add(time_ns, entry.owner)) {
        return absl::OutOfRangeError(absl::StrFormat(
            "Too many hits: choose a shorter range, limit=%d", kMaxHits));
      }
    }
  }
  return found.Take();
}

}  // namespace countrace::viewer
