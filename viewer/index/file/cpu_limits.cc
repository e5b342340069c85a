#include "viewer/index/file/cpu_limits.h"

#include <algorithm>

#include "viewer/index/file/row_limits.h"

namespace countrace::viewer {
namespace {

using rmap::Bounds;
using rmap::Number;

}  // namespace

std::vector<CpuLimits> CpuLimitsBy(const rmap::Report& report) {
  std::vector<CpuLimits> all;
  for (const rmap::CpuRow& row : report.cpu_rows) {
    const auto less = [&row](Number number, std::uint64_t value) {
      const auto bounds = row.bounds.Of(number);
      return bounds ? value - std::min(value, bounds->lo) : 0;
    };
    // Besides the unattributed time, which a range has of its own.
    const auto more = [&row](Number number, std::uint64_t value) {
      const auto bounds = row.bounds.Of(number);
      if (!bounds) return std::uint64_t{0};
      if (bounds->hi == Bounds::kNone) return kUnknownTime;
      const std::uint64_t known_ns = value + row.unattributed_ns;
      return bounds->hi - std::min(bounds->hi, known_ns);
    };
    const auto dispatches = row.bounds.Of(Number::kDispatches);
    CpuLimits limits{
        .cpu = row.cpu,
        .dispatches = dispatches && dispatches->hi == Bounds::kNone ? 1u : 0u,
        .busy_more = more(Number::kBusy, row.busy_ns),
        .idle_more = more(Number::kIdle, row.idle_ns),
        .interrupts_less = less(Number::kInterrupts, row.interrupts_ns),
        .interrupts_more = more(Number::kInterrupts, row.interrupts_ns),
        .outside_less = less(Number::kOutside, row.outside_ns),
        .outside_more = more(Number::kOutside, row.outside_ns)};
    const bool exact =
        (limits.dispatches | limits.busy_more | limits.idle_more |
         limits.interrupts_less | limits.interrupts_more | limits.outside_less |
         limits.outside_more) == 0;
    if (!exact) all.push_back(limits);
  }
  std::sort(all.begin(), all.end(), [](const CpuLimits& a, const CpuLimits& b) {
    return a.cpu < b.cpu;
  });
  return all;
}

}  // namespace countrace::viewer
