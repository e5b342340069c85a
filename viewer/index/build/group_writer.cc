#include "viewer/index/build/group_writer.h"

#include <cstring>
#include <span>

#include "viewer/index/build/packed_row_writer.h"
#include "viewer/index/rows/group_leaves.h"

namespace countrace::viewer {
namespace {

IntervalLeaf LeafAt(const std::byte* bytes) {
  IntervalLeaf leaf;
  std::memcpy(&leaf, bytes, sizeof(leaf));
  return leaf;
}

}  // namespace

bool PathTable::Has(std::uint32_t path, std::uint32_t hook_id) const {
  for (; path != kNoKey; path = entries_[path].parent) {
    if (entries_[path].key == hook_id) return true;
  }
  return false;
}

std::uint32_t PathTable::Inside(std::uint32_t parent, std::uint32_t hook_id) {
  const Place place(parent, hook_id);
  if (last_number_ == kNoKey || place != last_) {
    last_ = place;
    last_number_ = Number(place);
  }
  return last_number_;
}

std::uint32_t PathTable::Number(Place place) {
  const auto found = numbers_.find(place);
  if (found != numbers_.end()) return found->second;
  const auto [parent, hook_id] = place;
  const auto number = static_cast<std::uint32_t>(entries_.size());
  const bool folds =
      parent != kNoKey && (entries_.size() >= kMaxPaths ||
                           (entries_[parent].flags & kPathFolded) != 0);
  if (folds) {
    const auto [folded, added] = folded_.try_emplace(hook_id, number);
    if (added) entries_.push_back({kNoKey, hook_id, kPathFolded, 0});
    return folded->second;
  }
  numbers_.emplace(place, number);
  entries_.push_back(
      {parent, hook_id, Has(parent, hook_id) ? kPathRecursive : 0u, 0});
  return number;
}

EnclosingLeaves::EnclosingLeaves(const RowSpool& spool,
                                 const CollectedRow* above) {
  if (above == nullptr) return;
  cursor_ = std::make_unique<RowCursor>(spool, above->spool_row);
  above_ = cursor_->Next();
  next_ = above_ == nullptr ? nullptr : cursor_->Next();
}

EnclosingLeaves::Enclosing EnclosingLeaves::Above(const IntervalLeaf& leaf) {
  // Both rows are in time order: the place only moves forward.
  while (next_ != nullptr && LeafAt(above_).end_ns <= leaf.begin_ns &&
         LeafAt(next_).begin_ns <= leaf.begin_ns) {
    above_ = next_;
    next_ = cursor_->Next();
    ++number_;
  }
  if (above_ == nullptr) return {};
  const IntervalLeaf enclosing = LeafAt(above_);
  return enclosing.begin_ns <= leaf.begin_ns && leaf.end_ns <= enclosing.end_ns
             ? Enclosing{enclosing.key, number_}
             : Enclosing{};
}

void WriteGroups(const Postings& postings, std::uint32_t row,
                 std::uint32_t process, IndexFileWriter& out, RowEntry& entry,
                 std::vector<GroupEntry>& groups,
                 std::vector<InferredCall>& inferred) {
  entry.first_group = static_cast<std::uint32_t>(groups.size());
  entry.groups = static_cast<std::uint32_t>(postings.size());
  for (const auto& [keys, list] : postings) {
    GroupEntry group{.row = row,
                     .key = keys.hook_id,
                     .parent = keys.parent,
                     .process = process,
                     .path = keys.path,
                     .flags = 0,
                     .count = list.size(),
                     .posting_offset = 0,
                     .prefix_offset = 0};
    PackedRowWriter leaves(out, kPostingShape);
    std::vector<GroupSum> sums;
    GroupSum sum{};
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0 && i % kGroupBlock == 0) sums.push_back(sum);
      leaves.AddRow();
      leaves.Set(0, list[i].leaf);
      if (!list[i].counted) {
        ++sum.uncounted;
        continue;
      }
      if (list[i].end_inferred) {
        inferred.push_back({static_cast<std::uint32_t>(groups.size()),
                            static_cast<std::uint32_t>(i)});
      }
      sum.wall_ns += list[i].wall_ns;
      if (list[i].on_cpu_ns == kUnknownTime) {
        ++sum.on_cpu_unknown;
      } else {
        sum.on_cpu_ns += list[i].on_cpu_ns;
      }
    }
    sums.push_back(sum);
    group.posting_offset = leaves.Finish();
    group.prefix_offset = out.offset();
    out.AppendArray(std::span<const GroupSum>(sums));
    groups.push_back(group);
  }
}

}  // namespace countrace::viewer
