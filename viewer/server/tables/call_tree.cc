#include "viewer/server/tables/call_tree.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace countrace::viewer {
namespace {

using rmap::SegmentRow;
using Path = std::vector<std::string>;

// The rows of the paths that each is in, by number; rows.size(): none.
std::vector<std::size_t> Callers(const std::vector<SegmentRow>& rows) {
  std::map<std::pair<rmap::ProcessIndex, Path>, std::size_t> found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    found.emplace(std::pair(rows[i].process, rows[i].path), i);
  }
  std::vector<std::size_t> callers(rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Path path = rows[i].path;
    while (path.size() > 1) {
      path.pop_back();
      const auto caller = found.find({rows[i].process, path});
      if (caller == found.end()) continue;
      callers[i] = caller->second;
      break;
    }
  }
  return callers;
}

}  // namespace

std::vector<TreePlace> TreeOrder(const std::vector<SegmentRow>& rows) {
  // Index rows.size() has the outermost ones.
  std::vector<std::vector<std::size_t>> callees(rows.size() + 1);
  const std::vector<std::size_t> callers = Callers(rows);
  std::map<rmap::ProcessIndex, std::uint64_t> own_ns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    callees[callers[i]].push_back(i);
    own_ns[rows[i].process] += rows[i].wall.excl;
  }
  for (std::vector<std::size_t>& some : callees) {
    // Last first, as they leave the stack.
    std::sort(some.begin(), some.end(), [&](std::size_t a, std::size_t b) {
      const auto key = [&](const SegmentRow& row) {
        return std::tuple(own_ns[row.process], ~std::uint64_t(row.process),
                          row.wall.incl);
      };
      const auto left = key(rows[a]), right = key(rows[b]);
      return left != right ? left < right : rows[a].segment > rows[b].segment;
    });
  }
  std::vector<TreePlace> order;
  std::vector<std::size_t> stack = callees[rows.size()];
  while (!stack.empty()) {
    const std::size_t row = stack.back();
    stack.pop_back();
    order.push_back({.row = row, .has_callees = !callees[row].empty()});
    stack.insert(stack.end(), callees[row].begin(), callees[row].end());
  }
  return order;
}

}  // namespace countrace::viewer
