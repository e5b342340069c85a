#include "viewer/index/build/dispatch_gaps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {

DispatchGaps::DispatchGaps(const RowSpool& spool,
                           std::span<const CollectedRow> rows,
                           const CollectedRow& run) {
  if (run.kind != RowKind::kThreadRun) return;
  // The rows of a thread are adjacent.
  const CollectedRow* const end = rows.data() + rows.size();
  for (const CollectedRow* row = &run; row != end; ++row) {
    if (row->owner != run.owner) break;
    if (row->kind != RowKind::kThreadWait) continue;
    waits_ = std::make_unique<RowCursor>(spool, row->spool_row);
    next_ = waits_->Next();
  }
}

std::uint64_t DispatchGaps::BlockedBefore(const IntervalLeaf& leaf) {
  const std::uint64_t since_ns = std::exchange(last_end_ns_, leaf.end_ns);
  bool blocked = std::exchange(blocks_, LeavesBlocked(leaf.flags));
  std::uint64_t waited_ns = 0;
  for (; next_ != nullptr; next_ = waits_->Next()) {
    IntervalLeaf wait;
    std::memcpy(&wait, next_, sizeof(wait));
    if (wait.begin_ns >= leaf.begin_ns) break;
    if (waited_ns == 0 && WasWoken(wait.flags)) blocked = since_ns != 0;
    waited_ns += wait.end_ns - wait.begin_ns;
  }
  const std::uint64_t gap_ns =
      leaf.begin_ns - std::min(leaf.begin_ns, since_ns);
  return blocked ? gap_ns - std::min(gap_ns, waited_ns) : 0;
}

}  // namespace countrace::viewer
