#include "viewer/index/build/late_counts.h"

#include <algorithm>
#include <cstring>

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
                     return a.begin_ns < b.begin_ns;
                   });
}

void LateCountsOfRow::AddTo(const IntervalLeaf& leaf,
                            std::vector<std::uint64_t>& extras) {
  for (; next_ < counts_.size() && counts_[next_].begin_ns < leaf.end_ns;
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
