#include "rmap/tables/rows/system_call_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "rmap/tables/rows/call_limits.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kProvider = "syscall:";

}  // namespace

std::vector<SystemCallRow> SystemCallRows(
    const std::vector<SegmentRow>& segments) {
  using Key = std::pair<std::string, std::string>;  // segment, host
  std::map<Key, std::pair<SystemCallRow, CallLimits>> sums;
  for (const SegmentRow& segment : segments) {
    if (!segment.errors) continue;  // not a system call
    auto& [row, limits] = sums[{segment.segment, segment.host.Read()}];
    row.host = segment.host;
    ++row.processes;
    AddCalls(segment, row);
    limits.Add(segment);
  }
  std::vector<SystemCallRow> rows;
  for (auto& [key, sum] : sums) {
    auto& [row, limits] = sum;
    const std::string& name = key.first;
    // Those of 32-bit programs (syscall32:read) keep their provider.
    row.syscall =
        name.starts_with(kProvider) ? name.substr(kProvider.size()) : name;
    limits.Set(row);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const SystemCallRow& a, const SystemCallRow& b) {
              return std::tie(b.wall_ns, b.calls, a.syscall) <
                     std::tie(a.wall_ns, a.calls, b.syscall);
            });
  return rows;
}

}  // namespace countrace::rmap
