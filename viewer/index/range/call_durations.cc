#include "viewer/index/range/call_durations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/index/file/partition_point.h"
#include "viewer/index/rows/group_leaves.h"

namespace countrace::viewer {
namespace {

bool IsShorter(const TimedCall& a, const TimedCall& b) {
  return std::make_tuple(a.ns(), a.range.begin_ns, a.thread) <
         std::make_tuple(b.ns(), b.range.begin_ns, b.thread);
}

// Calls of one group that begin in `range`.
absl::Status AddCalls(const TimelineIndex& index, const GroupEntry& group,
                      TimeRange range, std::vector<TimedCall>& calls) {
  const IntervalRow row(index, group.row);
  const GroupLeaves leaves(index, group);
  std::uint64_t at =
      PartitionPoint(0, leaves.size(), [&](std::uint64_t number) {
        return row.leaf(leaves[number]).begin_ns < range.begin_ns;
      });
  for (; at != leaves.size(); ++at) {
    const IntervalLeaf call = row.leaf(leaves[at]);
    if (call.begin_ns >= range.end_ns) break;
    if ((call.flags & kLeafBeginInferred) != 0) continue;
    if (calls.size() >= kMaxTimedCalls) {
      return absl::OutOfRangeError(absl::StrFormat(
          "Too many calls: choose a shorter range, limit=%d", kMaxTimedCalls));
    }
    calls.push_back({row.entry().owner,
                     {call.begin_ns, std::max(call.begin_ns, call.end_ns)}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallDurations> DurationsIn(const TimelineIndex& index,
                                          std::uint32_t process,
                                          std::uint32_t hook, TimeRange range,
                                          DurationRange lengths) {
  std::vector<TimedCall> calls;
  for (const GroupEntry& group : index.groups()) {
    if (group.process != process || group.key != hook || group.count == 0 ||
        index.rows()[group.row].kind != RowKind::kSegment) {
      continue;
    }
    if (absl::Status status = AddCalls(index, group, range, calls);
        !status.ok()) {
      return status;
    }
  }
  std::erase_if(calls, [&](const TimedCall& call) {
    return call.ns() < lengths.least_ns || call.ns() > lengths.most_ns;
  });
  CallDurations durations;
  durations.calls = calls.size();
  if (calls.empty()) return durations;
  std::array<std::uint64_t, 65> counts{};
  for (const TimedCall& call : calls) ++counts[std::bit_width(call.ns())];
  // The shortest call that `percent` of the calls do not exceed.
  const auto quantile = [&calls](std::uint64_t percent) {
    const std::size_t rank =
        std::max<std::size_t>((calls.size() * percent + 99) / 100, 1) - 1;
    std::nth_element(calls.begin(),
                     calls.begin() + static_cast<std::ptrdiff_t>(rank),
                     calls.end(), IsShorter);
    return calls[rank];
  };
  durations.min = quantile(0);
  durations.p50 = quantile(50);
  durations.p99 = quantile(99);
  durations.max = quantile(100);
  const auto first = static_cast<int>(std::bit_width(durations.min.ns()));
  const auto last = static_cast<int>(std::bit_width(durations.max.ns()));
  for (int width = first; width <= last; ++width) {
    const std::uint64_t from_ns =
        width == 0 ? 0 : std::uint64_t{1} << (width - 1);
    durations.buckets.push_back({from_ns, width == 0 ? 1 : 2 * from_ns,
                                 counts[static_cast<std::size_t>(width)]});
  }
  return durations;
}

}  // namespace countrace::viewer
