// Arithmetic of an in-order forest: perfect binary trees over blocks, stored in
// one array without pointers. Block i is node 2i; the tree over blocks
// [i, i + 2^level), i a multiple of 2^level, has its root at 2i + 2^level - 1.
//
// Appending a block only writes nodes at the end, so a growing trace can extend
// the forest. A range of n blocks is the sum of at most 2 log2(n) nodes.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_FOREST_H_
#define COUNTRACE_VIEWER_INDEX_FILE_FOREST_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace countrace::viewer {

// Nodes of a forest over `blocks` blocks.
constexpr std::uint64_t ForestNodes(std::uint64_t blocks) noexcept {
  return blocks == 0 ? 0 : 2 * blocks - 1;
}

// Calls `visit(node)` for the nodes that together cover blocks [begin, end), in
// order.
template <typename Visit>
void VisitForestRange(std::uint64_t begin, std::uint64_t end, Visit visit) {
  while (begin < end) {
    const std::uint64_t remaining = end - begin;
    // The largest tree that starts at `begin` and does not pass `end`.
    auto level = static_cast<int>(std::bit_width(remaining)) - 1;
    if (begin != 0) level = std::min(level, std::countr_zero(begin));
    visit(2 * begin + (std::uint64_t{1} << level) - 1);
    begin += std::uint64_t{1} << level;
  }
}

// Builds the node array in memory, block by block.
template <typename Node>
class ForestBuilder {
 public:
  // `merge(left, right)` combines two neighbours.
  template <typename Merge>
  void Append(const Node& block, Merge merge) {
    const std::uint64_t index = blocks_++;
    // Node 2 * index - 1 joins trees that end here; it is filled below, when
    // its right half is complete.
    if (index != 0) nodes_.emplace_back();
    nodes_.push_back(block);
    std::uint64_t size = 1;
    // While the tree just completed is a right half, complete its parent.
    while ((index + 1) % (2 * size) == 0) {
      const std::uint64_t start = index + 1 - 2 * size;
      const std::uint64_t left = 2 * start + size - 1;
      const std::uint64_t right = 2 * (start + size) + size - 1;
      nodes_[2 * start + 2 * size - 1] = merge(nodes_[left], nodes_[right]);
      size *= 2;
    }
  }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  std::uint64_t blocks_ = 0;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_FOREST_H_
