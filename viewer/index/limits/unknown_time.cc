#include "viewer/index/limits/unknown_time.h"

#include <algorithm>
#include <set>

namespace countrace::viewer {

UnknownTime::UnknownTime(const TimelineIndex& index)
    : duration_ns_(index.duration_ns()) {
  std::set<std::uint32_t> seen, lossy;
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    if (entry.kind == RowKind::kCpu) {
      seen.insert(entry.owner);
      cpus_.emplace_back(index, number);
    } else if (entry.kind == RowKind::kOutsideRun) {
      outside_.emplace_back(index, number);
    }
  }
  for (const LossEntry& loss : index.losses()) {
    if (loss.cpu < 0) continue;
    first_loss_ns_ = std::min(first_loss_ns_, loss.begin_ns);
    lossy.insert(static_cast<std::uint32_t>(loss.cpu));
  }
  if ((index.header().flags & kOwnersUnknownAtBegin) != 0) first_loss_ns_ = 0;
  for (const std::uint32_t cpu : lossy) unseen_cpus_ += 1 - seen.count(cpu);
}

std::uint64_t UnknownTime::In(TimeRange range) const {
  const std::uint64_t end_ns = std::min(range.end_ns, duration_ns_);
  const std::uint64_t begin_ns = std::min(range.begin_ns, end_ns);
  const auto covered_ns = [](const IntervalRow& row, std::uint64_t from_ns,
                             std::uint64_t to_ns) {
    return row.Before(to_ns, 0).value - row.Before(from_ns, 0).value;
  };
  std::uint64_t unknown_ns = (end_ns - begin_ns) * unseen_cpus_;
  for (const IntervalRow& cpu : cpus_) {
    unknown_ns += end_ns - begin_ns - covered_ns(cpu, begin_ns, end_ns);
  }
  if (first_loss_ns_ >= end_ns) return unknown_ns;
  const std::uint64_t from_ns = std::max(begin_ns, first_loss_ns_);
  for (const IntervalRow& row : outside_) {
    unknown_ns += covered_ns(row, from_ns, end_ns);
  }
  return unknown_ns;
}

}  // namespace countrace::viewer
