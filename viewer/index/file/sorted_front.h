// Order of a table of which a page is shown.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_SORTED_FRONT_H_
#define COUNTRACE_VIEWER_INDEX_FILE_SORTED_FRONT_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace countrace::viewer {

// Puts the first `sorted` rows in order, the others behind them in any; without
// ties in `before`, answers are deterministic.
template <typename Row, typename Before>
void SortFront(std::vector<Row>& rows, std::size_t sorted, Before before) {
  // A heap of many rows costs more than to sort all.
  if (sorted > rows.size() / 8) {
    std::sort(rows.begin(), rows.end(), before);
  } else {
    std::partial_sort(rows.begin(),
                      rows.begin() + static_cast<std::ptrdiff_t>(sorted),
                      rows.end(), before);
  }
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_SORTED_FRONT_H_
