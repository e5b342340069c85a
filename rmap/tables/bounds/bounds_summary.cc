#include "rmap/tables/bounds/bounds_summary.h"

#include <algorithm>

namespace countrace::rmap {

BoundsSummary SummaryOfBounds(const Report& report) {
  BoundsSummary summary;
  double widths = 0;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      for (const auto& [number, bounds] : row.bounds.entries()) {
        static_cast<void>(number);
        ++summary.numbers;
        if (bounds.hi == Bounds::kNone) {
          ++summary.without_limit;
        } else {
          widths += static_cast<double>(bounds.hi - bounds.lo) /
                    static_cast<double>(std::max<std::uint64_t>(bounds.hi, 1));
        }
      }
    }
  };
  add(report.processes);
  add(report.threads);
  add(report.segments);
  add(report.segment_paths);
  add(report.wakers);
  add(report.preemptors);
  add(report.cpu_rows);
  if (summary.numbers != summary.without_limit) {
    summary.mean_width =
        widths / static_cast<double>(summary.numbers - summary.without_limit);
  }
  return summary;
}

}  // namespace countrace::rmap
