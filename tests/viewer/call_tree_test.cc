// The order of call paths as a tree: properties of random ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rmap/result/tables.h"
#include "viewer/server/tables/call_tree.h"

namespace countrace::viewer {
namespace {

using Path = std::vector<std::string>;

bool IsInside(const rmap::SegmentRow& row, const rmap::SegmentRow& outer) {
  return row.process == outer.process && row.path.size() > outer.path.size() &&
         std::equal(outer.path.begin(), outer.path.end(), row.path.begin());
}

}  // namespace

TEST_CASE("call_tree: each path follows what it is in, the heaviest first",
          "[viewer][property]") {
  std::mt19937_64 random(11);
  for (int run = 0; run < 200; ++run) {
    std::vector<rmap::SegmentRow> rows;
    std::set<std::pair<std::uint32_t, Path>> taken;
    const std::size_t wanted = random() % 60;
    for (std::size_t i = 0; i < wanted; ++i) {
      rmap::SegmentRow row;
      const auto process = static_cast<std::uint32_t>(random() % 3);
      row.process = static_cast<rmap::ProcessIndex>(process);
      for (std::size_t depth = 1 + random() % 5; depth > 0; --depth) {
        row.path.push_back(
            std::string(1, static_cast<char>('a' + random() % 3)));
      }
      row.segment = row.path.back();
      row.wall.incl = random() % 20;
      row.wall.excl = random() % 5;
      // Some paths have no row for what they are in: it was not selected.
      if (taken.emplace(process, row.path).second) rows.push_back(row);
    }
    const std::vector<TreePlace> order = TreeOrder(rows);
    REQUIRE(order.size() == rows.size());
    std::set<std::size_t> seen;
    for (const TreePlace& place : order) seen.insert(place.row);
    REQUIRE(seen.size() == rows.size());
    std::map<rmap::ProcessIndex, std::uint64_t> own_ns;
    for (const rmap::SegmentRow& row : rows)
      own_ns[row.process] += row.wall.excl;
    std::vector<std::size_t> open;  // the path of rows to the one before
    for (std::size_t i = 0; i < order.size(); ++i) {
      const rmap::SegmentRow& row = rows[order[i].row];
      const bool callees_follow =
          i + 1 < order.size() && IsInside(rows[order[i + 1].row], row);
      CHECK(order[i].has_callees == callees_follow);
      std::size_t last = rows.size();
      while (!open.empty() && !IsInside(row, rows[open.back()])) {
        last = open.back();
        open.pop_back();
      }
      // Below the nearest that it is in.
      std::size_t nearest = 0;
      for (const rmap::SegmentRow& other : rows) {
        if (IsInside(row, other))
          nearest = std::max(nearest, other.path.size());
      }
      CHECK((open.empty() ? 0 : rows[open.back()].path.size()) == nearest);
      if (last < rows.size()) {
        const rmap::SegmentRow& sibling = rows[last];
        if (sibling.process == row.process) {
          CHECK(sibling.wall.incl >= row.wall.incl);
        } else {
          CHECK(own_ns[sibling.process] >= own_ns[row.process]);
        }
      }
      open.push_back(order[i].row);
    }
  }
}

}  // namespace countrace::viewer
