// The whole trace in 2,048 columns, filled while the CPU rows are written:
// first paint and the minimap need no forest walk.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_OVERVIEW_COLUMNS_H_
#define COUNTRACE_VIEWER_INDEX_FILE_OVERVIEW_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// First time of column `column`; the last column ends at `duration_ns`.
std::uint64_t OverviewBoundary(std::uint64_t duration_ns, std::uint32_t column);

// The column that `time_ns` is in; `duration_ns` is in the last one. Requires:
// duration_ns > 0.
std::uint32_t OverviewColumnAt(std::uint64_t duration_ns,
                               std::uint64_t time_ns);

class OverviewColumns {
 public:
  explicit OverviewColumns(std::uint64_t duration_ns);

  // Begins the row of the next CPU. CPUs above kMaxOverviewRows only count in
  // the first row, the machine.
  void BeginCpu();
  // Adds a leaf of that CPU whose colour is `key`.
  void Add(const IntervalLeaf& leaf, std::uint32_t key);

  std::uint32_t rows() const;
  // Row 0 is the machine (coverage is the mean over CPUs), then one per CPU.
  std::vector<StripColumn> Finish();

 private:
  void CloseCpu();

  std::uint64_t duration_ns_;
  std::uint32_t cpus_ = 0;
  std::vector<IntervalNode> machine_, cpu_;
  std::vector<StripColumn> cpu_columns_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_OVERVIEW_COLUMNS_H_
