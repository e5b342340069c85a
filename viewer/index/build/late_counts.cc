#include "viewer/index/build/late_counts.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace countrace::viewer {

LateCountsOfRow::LateCountsOfRow(const RowSpool& spool,
                                 const LateCounts& late_counts,
                                 const CollectedRow& row) {
  const auto found = late_counts.find(RowKey(row.kind, row.owner));
  if (found == late_counts.end()) return;
  RowCursor cursor(spool, found->second);
  for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
       bytes = cursor.Next()) {
    std::memcpy(&counts_.emplace_back(), bytes, sizeof(LateCount));
  }
  std::stable_sort(counts_.begin(), counts_.end(),
                   [](const LateCount& a, const LateCount& b) {
                     return std::pair(a.begin_ns, a.end_ns) <
                            std::pair(b.begin_ns, b.end_ns);
                   });
}

void LateCountsOfRow::AddTo(const IntervalLeaf& leaf,
                            std::vector<std::uint64_t>& extras) {
  // A switch that is computed may end a dispatch where it began.
  for (; next_ < counts_.size() && (counts_[next_].begin_ns < leaf.end_ns ||
                                    counts_[next_].end_ns <= leaf.end_ns);
       ++next_) {
    // One of several dispatches together stays out: which has what of it is
    // not known.
    if (counts_[next_].begin_ns < leaf.begin_ns ||
        counts_[next_].end_ns > leaf.end_ns) {
      continue;
    }
    extras[counts_[next_].event] += counts_[next_].count;
  }
}

}  // namespace countrace::viewer
