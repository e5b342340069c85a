#include "viewer/index/group_writer.h"

#include <cstring>
#include <span>

namespace countrace::viewer {
namespace {

IntervalLeaf LeafAt(const std::byte* bytes) {
  IntervalLeaf leaf;
  std::memcpy(&leaf, bytes, sizeof(leaf));
  return leaf;
}

}  // namespace

EnclosingLeaves::EnclosingLeaves(const RowSpool& spool,
                                 const CollectedRow* above) {
  if (above == nullptr) return;
  cursor_ = std::make_unique<RowCursor>(spool, above->spool_row);
  above_ = cursor_->Next();
  next_ = above_ == nullptr ? nullptr : cursor_->Next();
}

std::uint32_t EnclosingLeaves::KeyAbove(const IntervalLeaf& leaf) {
  // Both rows are in time order: the place only moves forward.
  while (next_ != nullptr && LeafAt(above_).end_ns <= leaf.begin_ns &&
         LeafAt(next_).begin_ns <= leaf.begin_ns) {
    above_ = next_;
    next_ = cursor_->Next();
  }
  if (above_ == nullptr) return kNoKey;
  const IntervalLeaf enclosing = LeafAt(above_);
  return enclosing.begin_ns <= leaf.begin_ns && leaf.end_ns <= enclosing.end_ns
             ? enclosing.key
             : kNoKey;
}

void AddCalls(const Postings& postings, std::uint32_t process,
              SegmentSums& sums) {
  for (const auto& [keys, list] : postings) {
    SegmentSums::Sums& own = sums.Of(process, keys.first);
    std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0;
    for (const Posting& call : list) {
      if (!call.counted) continue;
      ++calls;
      wall_ns += call.wall_ns;
      if (call.on_cpu_ns != kUnknownTime) on_cpu_ns += call.on_cpu_ns;
    }
    own[kSegmentCalls] += calls;
    own[kSegmentWallIncl] += wall_ns;
    own[kSegmentWallExcl] += wall_ns;
    own[kSegmentOnCpuIncl] += on_cpu_ns;
    own[kSegmentOnCpuExcl] += on_cpu_ns;
    if (keys.second == kNoKey) continue;
    SegmentSums::Sums& parent = sums.Of(process, keys.second);
    parent[kSegmentWallExcl] -= wall_ns;
    parent[kSegmentOnCpuExcl] -= on_cpu_ns;
  }
}

void WriteGroups(const Postings& postings, std::uint32_t row,
                 std::uint32_t process, IndexFileWriter& out, RowEntry& entry,
                 std::vector<GroupEntry>& groups,
                 std::vector<InferredCall>& inferred) {
  entry.first_group = static_cast<std::uint32_t>(groups.size());
  entry.groups = static_cast<std::uint32_t>(postings.size());
  for (const auto& [keys, list] : postings) {
    GroupEntry group{.row = row,
                     .key = keys.first,
                     .parent = keys.second,
                     .process = process,
                     .count = list.size(),
                     .posting_offset = out.offset(),
                     .prefix_offset = 0};
    std::vector<std::uint32_t> leaves;
    std::vector<GroupSum> sums;
    GroupSum sum{};
    leaves.reserve(list.size() + 1);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i % kGroupBlock == 0) sums.push_back(sum);
      leaves.push_back(list[i].leaf);
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
    if (leaves.size() % 2 != 0) leaves.push_back(0);  // 8-byte alignment
    out.AppendArray(std::span<const std::uint32_t>(leaves));
    group.prefix_offset = out.offset();
    out.AppendArray(std::span<const GroupSum>(sums));
    groups.push_back(group);
  }
}

}  // namespace countrace::viewer
