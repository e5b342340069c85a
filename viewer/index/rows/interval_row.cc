#include "viewer/index/rows/interval_row.h"

#include <algorithm>

#include "viewer/index/file/forest.h"
#include "viewer/index/file/interval_summary.h"
#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {
namespace {

__extension__ typedef unsigned __int128 Wide;

// First i in [begin, end) for which `before(i)` is false. Doubles its steps
// from `begin`, so the next lookup nearby is cheap.
template <typename Before>
std::uint64_t Gallop(std::uint64_t begin, std::uint64_t end, Before before) {
  std::uint64_t step = 1;
  std::uint64_t low = begin;
  std::uint64_t visits = 1;
  while (low < end && before(low)) {
    ++visits;
    begin = low + 1;
    if (end - low <= step) {
      low = end;
      break;
    }
    low += step;
    step *= 2;
  }
  std::uint64_t high = std::min(low, end);
  while (begin < high) {
    ++visits;
    const std::uint64_t middle = begin + (high - begin) / 2;
    if (before(middle)) {
      begin = middle + 1;
    } else {
      high = middle;
    }
  }
  VisitCount() += visits;
  return begin;
}

// The same from `hint` on. Most rows of a machine are of threads that ended
// long before.
template <typename Before>
std::uint64_t FirstFalse(std::uint64_t hint, std::uint64_t size,
                         Before before) {
  if (hint == 0 && size != 0 && before(size - 1)) {
    ++VisitCount();
    return size;
  }
  return Gallop(std::min(hint, size), size, before);
}

}  // namespace

IntervalRow::IntervalRow(const TimelineIndex& index, std::uint32_t row)
    : index_(index),
      entry_(index.rows()[row]),
      leaves_(index.bytes(), index.At<std::uint64_t>(entry_.leaf_offset),
              entry_.extras) {}

std::uint32_t IntervalRow::StyleOf(const IntervalLeaf& leaf) const {
  return entry_.kind == RowKind::kCpu ? index_.ProcessOf(leaf.key) : leaf.key;
}

std::uint64_t IntervalRow::FirstNotOver(std::uint64_t time_ns,
                                        std::uint64_t hint) const {
  return FirstFalse(hint, size(), [&](std::uint64_t number) {
    const IntervalLeaf at = leaf(number);
    return std::max(at.end_ns, at.begin_ns + 1) <= time_ns;
  });
}

std::uint64_t IntervalRow::FirstBeginning(std::uint64_t time_ns,
                                          std::uint64_t hint) const {
  return FirstFalse(hint, size(), [&](std::uint64_t number) {
    return leaves_.Begin(number) < time_ns;
  });
}

std::optional<std::uint64_t> IntervalRow::Covering(std::uint64_t time_ns,
                                                   std::uint64_t hint) const {
  std::uint64_t number = FirstNotOver(time_ns, hint);
  // Leaves of no length share their instant with the following leaf.
  while (number + 1 < size() && leaf(number).end_ns <= time_ns &&
         leaf(number + 1).begin_ns <= time_ns) {
    ++number;
    ++VisitCount();
  }
  if (number < size() && leaf(number).begin_ns <= time_ns &&
      time_ns < leaf(number).end_ns) {
    return number;
  }
  return std::nullopt;
}

IntervalNode IntervalRow::Summary(TimeRange range, std::uint64_t* hint) const {
  IntervalNode node = EmptyNode();
  if (range.begin_ns >= range.end_ns) return node;
  const std::uint64_t first =
      FirstNotOver(range.begin_ns, hint == nullptr ? 0 : *hint);
  if (hint != nullptr) *hint = first;
  const std::uint64_t last = FirstBeginning(range.end_ns, first);
  const auto add = [&](std::uint64_t number) {
    const IntervalLeaf at = leaf(number);
    const std::uint64_t begin_ns = std::max(at.begin_ns, range.begin_ns);
    const std::uint64_t end_ns = std::min(at.end_ns, range.end_ns);
    AddLeaf(node, StyleOf(at), at.flags,
            end_ns > begin_ns ? end_ns - begin_ns : 0);
  };
  // Only the outermost leaves can be cut, and they are never inside the whole
  // blocks below.
  const std::uint64_t block_begin = (first + kIntervalBlock) / kIntervalBlock;
  const std::uint64_t block_end = last == 0 ? 0 : (last - 1) / kIntervalBlock;
  if (block_begin >= block_end) {
    for (std::uint64_t number = first; number < last; ++number) add(number);
    VisitCount() += last - first;
    return node;
  }
  for (std::uint64_t n = first; n < block_begin * kIntervalBlock; ++n) add(n);
  const IntervalNode* nodes = index_.At<IntervalNode>(entry_.node_offset);
  VisitForestRange(block_begin, block_end, [&](std::uint64_t at) {
    ++VisitCount();
    node = MergeNodes(node, nodes[at]);
  });
  for (std::uint64_t n = block_end * kIntervalBlock; n < last; ++n) add(n);
  VisitCount() += (block_begin - block_end) * kIntervalBlock + last - first;
  return node;
}

std::uint64_t IntervalRow::SumOfFirst(std::uint64_t leaves,
                                      std::uint32_t which) const {
  const std::uint64_t block = leaves / kIntervalBlock;
  const std::uint64_t columns = 1 + std::uint64_t{entry_.extras};
  std::uint64_t sum =
      index_.At<std::uint64_t>(entry_.prefix_offset)[block * columns + which];
  for (std::uint64_t number = block * kIntervalBlock; number < leaves;
       ++number) {
    const IntervalLeaf at = leaf(number);
    const std::uint64_t value =
        which == 0 ? at.end_ns - at.begin_ns : extra(number, which - 1);
    if (which == 0 || value != kUnknownTime) sum += value;
  }
  VisitCount() += leaves - block * kIntervalBlock;
  return sum;
}

IntervalRow::Cumulative IntervalRow::Before(std::uint64_t time_ns,
                                            std::uint32_t which) const {
  const std::uint64_t end = FirstBeginning(time_ns);
  if (end == 0) return {0, false};
  const std::uint64_t cut = end - 1;  // the only leaf that may not be over
  const std::uint64_t sum = SumOfFirst(cut, which);
  const IntervalLeaf at = leaf(cut);
  const std::uint64_t wall_ns = at.end_ns - at.begin_ns;
  const std::uint64_t done_ns = std::min(at.end_ns, time_ns) - at.begin_ns;
  if (which == 0) return {sum + done_ns, false};
  const std::uint64_t value = extra(cut, which - 1);
  if (value == kUnknownTime) return {sum, false};
  if (done_ns >= wall_ns) return {sum + value, false};
  return {sum + static_cast<std::uint64_t>(Wide{value} * done_ns / wall_ns),
          value != 0};
}

}  // namespace countrace::viewer
