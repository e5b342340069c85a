#include "viewer/index/build/row_order.h"

#include <algorithm>
#include <tuple>

namespace countrace::viewer {

void SortRows(std::vector<CollectedRow>& rows,
              const std::vector<std::uint32_t>& thread_order) {
  const auto rank = [&thread_order](const CollectedRow& row) {
    const bool of_thread =
        row.kind == RowKind::kThreadRun || row.kind == RowKind::kHook ||
        row.kind == RowKind::kSegment || row.kind == RowKind::kThreadWait ||
        row.kind == RowKind::kFault || row.kind == RowKind::kThreadBlocked;
    const std::uint32_t part = row.kind == RowKind::kCpu ? 0
                               : of_thread               ? 1
                                                         : 2;
    const std::uint32_t owner = of_thread && row.owner < thread_order.size()
                                    ? thread_order[row.owner]
                                    : row.owner;
    return std::tuple(
        part, of_thread ? 0u : static_cast<std::uint32_t>(row.kind), owner,
        row.owner, static_cast<std::uint32_t>(row.kind), row.depth);
  };
  std::sort(rows.begin(), rows.end(),
            [&rank](const CollectedRow& a, const CollectedRow& b) {
              return rank(a) < rank(b);
            });
}

}  // namespace countrace::viewer
