#include "viewer/index/file/interval_summary.h"

#include <algorithm>
#include <limits>

namespace countrace::viewer {
namespace {

std::uint32_t Saturate(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void SketchAdd(SketchEntry (&sketch)[kSketchEntries], std::uint32_t key,
               float share_ns) {
  if (share_ns <= 0) return;
  SketchEntry* smallest = &sketch[0];
  for (SketchEntry& entry : sketch) {
    if (entry.share_ns > 0 && entry.key == key) {
      entry.share_ns += share_ns;
      return;
    }
    if (entry.share_ns < smallest->share_ns) smallest = &entry;
  }
  if (smallest->share_ns <= 0) {
    *smallest = {key, share_ns};
    return;
  }
  // Full: the new key and the stored ones lose the same share.
  const float price = std::min(smallest->share_ns, share_ns);
  for (SketchEntry& entry : sketch) entry.share_ns -= price;
  if (share_ns > price) *smallest = {key, share_ns - price};
}

void SketchMerge(SketchEntry (&sketch)[kSketchEntries],
                 const SketchEntry (&other)[kSketchEntries]) {
  // Joining both before subtracting the fifth largest share keeps the error
  // bound of a sketch built in one pass; adding one by one would not.
  SketchEntry all[2 * kSketchEntries];
  std::size_t size = 0;
  for (const SketchEntry& entry : sketch) {
    if (entry.share_ns > 0) all[size++] = entry;
  }
  const std::size_t own = size;
  for (const SketchEntry& entry : other) {
    if (entry.share_ns <= 0) continue;
    bool found = false;
    for (std::size_t i = 0; i < own && !found; ++i) {
      if (all[i].key != entry.key) continue;
      all[i].share_ns += entry.share_ns;
      found = true;
    }
    if (!found) all[size++] = entry;
  }
  // At most eight entries: insertion sort, largest first, ties by key.
  for (std::size_t i = 1; i < size; ++i) {
    const SketchEntry entry = all[i];
    std::size_t at = i;
    for (; at > 0 && (all[at - 1].share_ns < entry.share_ns ||
                      (all[at - 1].share_ns == entry.share_ns &&
                       all[at - 1].key > entry.key));
         --at) {
      all[at] = all[at - 1];
    }
    all[at] = entry;
  }
  const float price = size > kSketchEntries ? all[kSketchEntries].share_ns : 0;
  for (std::size_t i = 0; i < kSketchEntries; ++i) {
    sketch[i] = i < size && all[i].share_ns > price
                    ? SketchEntry{all[i].key, all[i].share_ns - price}
                    : SketchEntry{kNoKey, 0};
  }
}

std::uint32_t SketchTop(const SketchEntry (&sketch)[kSketchEntries]) {
  const SketchEntry* best = nullptr;
  for (const SketchEntry& entry : sketch) {
    if (entry.share_ns <= 0) continue;
    if (best == nullptr || entry.share_ns > best->share_ns ||
        (entry.share_ns == best->share_ns && entry.key < best->key)) {
      best = &entry;
    }
  }
  return best == nullptr ? kNoKey : best->key;
}

void AddLeaf(IntervalNode& node, std::uint32_t key, std::uint32_t flags,
             std::uint64_t wall_ns) {
  if ((flags & kLeafIdle) != 0) {
    node.idle_ns += wall_ns;
    return;
  }
  if ((flags & kLeafOutside) != 0) {
    node.outside_ns += wall_ns;
    return;
  }
  node.busy_ns += wall_ns;
  node.count = Saturate(std::uint64_t{node.count} + 1);
  node.longest_ns = std::max(node.longest_ns, Saturate(wall_ns));
  // A leaf of no length still has a colour: its weight is half a nanosecond.
  SketchAdd(node.sketch, key,
            wall_ns == 0 ? 0.5f : static_cast<float>(wall_ns));
}

StripColumn ColumnOf(const IntervalNode& node, std::uint64_t width_ns) {
  StripColumn column{};
  column.key = SketchTop(node.sketch);
  column.count =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(node.count, 0xffff));
  if (node.count > 0) {
    const double share = static_cast<double>(node.busy_ns) /
                         static_cast<double>(std::max<std::uint64_t>(
                             width_ns, std::uint64_t{1}));
    column.coverage =
        static_cast<std::uint8_t>(std::clamp(share * 255.0 + 0.5, 1.0, 255.0));
  }
  if (node.count > 1) column.flags |= kColumnMerged;
  if (node.idle_ns > 0) column.flags |= kColumnIdle;
  if (node.outside_ns > 0) column.flags |= kColumnOutside;
  if (node.busy_ns + node.idle_ns + node.outside_ns < width_ns) {
    column.flags |= kColumnGap;
  }
  return column;
}

IntervalNode EmptyNode() {
  IntervalNode node{};
  for (SketchEntry& entry : node.sketch) entry = {kNoKey, 0};
  return node;
}

IntervalNode MergeNodes(const IntervalNode& left, const IntervalNode& right) {
  IntervalNode merged = left;
  merged.busy_ns += right.busy_ns;
  merged.idle_ns += right.idle_ns;
  merged.outside_ns += right.outside_ns;
  merged.count = Saturate(std::uint64_t{left.count} + right.count);
  merged.longest_ns = std::max(left.longest_ns, right.longest_ns);
  SketchMerge(merged.sketch, right.sketch);
  return merged;
}

}  // namespace countrace::viewer
