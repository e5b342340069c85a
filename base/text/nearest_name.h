// Finds the known name closest to a misspelt one.
#ifndef COUNTRACE_BASE_TEXT_NEAREST_NAME_H_
#define COUNTRACE_BASE_TEXT_NEAREST_NAME_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::base {

// Number of insertions, deletions and replacements that turn `a` into `b`.
inline std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The candidate nearest to `word` if it is close enough, else "".
inline std::string_view NearestName(
    std::string_view word, const std::vector<std::string>& candidates) {
  std::string_view best;
  std::size_t best_distance = 1 + word.size() / 3;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance ||
        (distance == best_distance && best.empty())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_NEAREST_NAME_H_
