#include "viewer/index/file/overview_columns.h"

#include <algorithm>

#include "viewer/index/file/interval_summary.h"

namespace countrace::viewer {
namespace {

__extension__ typedef unsigned __int128 Wide;

}  // namespace

std::uint64_t OverviewBoundary(std::uint64_t duration_ns,
                               std::uint32_t column) {
  return static_cast<std::uint64_t>(Wide{duration_ns} * column /
                                    kOverviewColumns);
}

std::uint32_t OverviewColumnAt(std::uint64_t duration_ns,
                               std::uint64_t time_ns) {
  auto column = static_cast<std::uint32_t>(std::min<Wide>(
      Wide{time_ns} * kOverviewColumns / duration_ns, kOverviewColumns - 1));
  // Boundaries are rounded down, so the estimate may be one too low.
  while (column + 1 < kOverviewColumns &&
         OverviewBoundary(duration_ns, column + 1) <= time_ns) {
    ++column;
  }
  return column;
}

OverviewColumns::OverviewColumns(std::uint64_t duration_ns)
    : duration_ns_(std::max<std::uint64_t>(duration_ns, 1)),
      machine_(kOverviewColumns, EmptyNode()),
      cpu_(kOverviewColumns, EmptyNode()) {}

void OverviewColumns::BeginCpu() {
  CloseCpu();
  ++cpus_;
}

void OverviewColumns::Add(const IntervalLeaf& leaf, std::uint32_t key) {
  std::uint64_t begin_ns = leaf.begin_ns;
  for (std::uint32_t column = OverviewColumnAt(duration_ns_, begin_ns);
       column < kOverviewColumns; ++column) {
    const std::uint64_t end_ns =
        std::min(leaf.end_ns, OverviewBoundary(duration_ns_, column + 1));
    AddLeaf(cpu_[column], key, leaf.flags,
            end_ns > begin_ns ? end_ns - begin_ns : 0);
    if (end_ns >= leaf.end_ns) break;
    begin_ns = end_ns;
  }
}

void OverviewColumns::CloseCpu() {
  if (cpus_ == 0) return;
  const bool own_row = cpus_ < kMaxOverviewRows;
  for (std::uint32_t column = 0; column < kOverviewColumns; ++column) {
    machine_[column] = MergeNodes(machine_[column], cpu_[column]);
    if (own_row) {
      cpu_columns_.push_back(
          ColumnOf(cpu_[column], OverviewBoundary(duration_ns_, column + 1) -
                                     OverviewBoundary(duration_ns_, column)));
    }
    cpu_[column] = EmptyNode();
  }
}

std::uint32_t OverviewColumns::rows() const {
  return 1 + std::min(cpus_, kMaxOverviewRows - 1);
}

std::vector<StripColumn> OverviewColumns::Finish() {
  CloseCpu();
  std::vector<StripColumn> columns;
  columns.reserve(kOverviewColumns + cpu_columns_.size());
  const std::uint64_t cpus = std::max<std::uint32_t>(cpus_, 1);
  for (std::uint32_t column = 0; column < kOverviewColumns; ++column) {
    columns.push_back(
        ColumnOf(machine_[column], (OverviewBoundary(duration_ns_, column + 1) -
                                    OverviewBoundary(duration_ns_, column)) *
                                       cpus));
  }
  columns.insert(columns.end(), cpu_columns_.begin(), cpu_columns_.end());
  cpu_columns_.clear();
  return columns;
}

}  // namespace countrace::viewer
