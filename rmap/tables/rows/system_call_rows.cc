#include "rmap/tables/rows/system_call_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kProvider = "syscall:";

void Add(const std::optional<InclusiveExclusive>& time,
         std::optional<std::uint64_t>& sum) {
  if (time) sum = sum.value_or(0) + time->incl;
}

// The limits of numbers in rows of which some have limits of their own.
struct Limits {
  Bounds calls{0, 0}, wall{0, 0}, longest{0, 0}, on_cpu{0, 0};
  Bounds wait{0, 0}, blocked{0, 0};

  static void Add(const SegmentRow& row, Number number, std::uint64_t value,
                  Bounds& sum) {
    const Bounds limits = row.bounds.Of(number).value_or(Bounds{value, value});
    sum.lo += limits.lo;
    sum.hi = AddBounded(sum.hi, limits.hi);
  }
  void Add(const SegmentRow& row) {
    const auto incl = [](const std::optional<InclusiveExclusive>& time) {
      return time ? time->incl : 0;
    };
    Add(row, Number::kCalls, row.calls, calls);
    Add(row, Number::kWallIncl, row.wall.incl, wall);
    Add(row, Number::kOnCpuIncl, incl(row.on_cpu), on_cpu);
    Add(row, Number::kWaitIncl, incl(row.wait), wait);
    Add(row, Number::kBlockedIncl, incl(row.blocked), blocked);
    const Bounds most = row.bounds.Of(Number::kWallMax)
                            .value_or(Bounds{row.wall.max, row.wall.max});
    longest.lo = std::max(longest.lo, most.lo);
    longest.hi = std::max(longest.hi, most.hi);
  }
};

void SetBounds(const Limits& limits, SystemCallRow& row) {
  row.bounds.Set(Number::kCalls, row.calls, limits.calls);
  row.bounds.Set(Number::kWallIncl, row.wall_ns, limits.wall);
  row.bounds.Set(Number::kWallMax, row.longest_ns, limits.longest);
  if (row.on_cpu_ns) {
    row.bounds.Set(Number::kOnCpuIncl, *row.on_cpu_ns, limits.on_cpu);
  }
  if (row.wait_ns) {
    row.bounds.Set(Number::kWaitIncl, *row.wait_ns, limits.wait);
  }
  if (row.blocked_ns) {
    row.bounds.Set(Number::kBlockedIncl, *row.blocked_ns, limits.blocked);
  }
  row.quality = row.qualities.Worst();
}

}  // namespace

std::vector<SystemCallRow> SystemCallRows(
    const std::vector<SegmentRow>& segments) {
  std::map<std::string, std::pair<SystemCallRow, Limits>> sums;
  for (const SegmentRow& segment : segments) {
    if (!segment.errors) continue;  // not a system call
    auto& [row, limits] = sums[segment.segment];
    ++row.processes;
    row.calls += segment.calls;
    row.wall_ns += segment.wall.incl;
    row.longest_ns = std::max(row.longest_ns, segment.wall.max);
    Add(segment.on_cpu, row.on_cpu_ns);
    Add(segment.wait, row.wait_ns);
    Add(segment.blocked, row.blocked_ns);
    for (const auto& [error, calls] : *segment.errors) {
      row.errors[error] += calls;
    }
    for (const Quality quality :
         {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
      if (segment.qualities.Has(quality)) row.qualities.Add(quality);
    }
    limits.Add(segment);
  }
  std::vector<SystemCallRow> rows;
  for (auto& [name, sum] : sums) {
    auto& [row, limits] = sum;
    // Those of 32-bit programs (syscall32:read) keep their provider.
    row.syscall =
        name.starts_with(kProvider) ? name.substr(kProvider.size()) : name;
    SetBounds(limits, row);
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
