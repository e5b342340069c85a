#include "rmap/tables/bounds/bounds_summary.h"

#include <algorithm>
#include <optional>

namespace countrace::rmap {

BoundsSummary SummaryOfBounds(const Report& report) {
  BoundsSummary summary;
  double widths = 0;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) {
      summary.bounded |= row.qualities.Has(Quality::kBounded);
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

std::vector<BoundsReason> BoundsReasons(const Report& report) {
  const Loss& loss = report.loss;
  std::vector<BoundsReason> reasons;
  const bool lost =
      loss.discarded_events - loss.overwritten + loss.discarded_packets != 0;
  if (lost) {
    reasons.push_back(
        {"records were lost", "the notes name where, and what helps"});
  }
  // The time of a switch may be computed, and its counts not known.
  const bool unattributed =
      std::any_of(report.books.begin(), report.books.end(),
                  [](const Books& books) { return books.unattributed != 0; });
  if (report.hidden_switches != 0 || (unattributed && !lost)) {
    reasons.push_back({"the kernel did not show a switch",
                       "in a longer recording its part is smaller"});
  }
  const auto any = [&report](const auto& of) {
    return std::any_of(report.segments.begin(), report.segments.end(), of);
  };
  if (any([](const SegmentRow& row) { return row.probes.has_value(); })) {
    reasons.push_back({"the cost of probes is estimated",
                       "fewer probes, or hooks in the code, cost less"});
  }
  const auto estimated = [](const std::optional<SegmentCount>& count) {
    return count && count->estimate.Read().of_unseen;
  };
  if (any([&](const SegmentRow& row) {
        return std::any_of(row.counts.begin(), row.counts.end(), estimated);
      })) {
    reasons.push_back({"calls that were not counted may differ",
                       "fewer event sets count more of them"});
  }
  if (reasons.empty()) {
    reasons.push_back({"the owner of counts is not known at an edge",
                       "in a longer recording its part is smaller"});
  }
  return reasons;
}

}  // namespace countrace::rmap
