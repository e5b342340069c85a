#include "viewer/index/build/interval_row_writer.h"

#include <cstddef>

#include "viewer/index/file/interval_summary.h"
#include "viewer/index/file/leaf_block.h"

namespace countrace::viewer {

IntervalRowWriter::IntervalRowWriter(IndexFileWriter& out, std::uint32_t extras)
    : out_(out),
      rows_(out, LeafShape(extras)),
      sums_(std::size_t{1} + extras, 0),
      node_(EmptyNode()) {}

void IntervalRowWriter::Add(const IntervalLeaf& leaf, std::uint32_t key,
                            std::span<const std::uint64_t> extras) {
  if (leaves_ % kIntervalBlock == 0) {
    if (leaves_ != 0) CloseNode();
    prefix_.insert(prefix_.end(), sums_.begin(), sums_.end());
  }
  ++leaves_;
  const std::uint64_t wall_ns = leaf.end_ns - leaf.begin_ns;
  AddLeaf(node_, key, leaf.flags, wall_ns);
  sums_[0] += wall_ns;
  for (std::size_t i = 1; i < sums_.size(); ++i) {
    if (extras[i - 1] != kUnknownTime) sums_[i] += extras[i - 1];
  }
  AddLeafRow(leaf, extras, rows_);
}

void IntervalRowWriter::Finish(RowEntry& entry) {
  entry.leaf_offset = rows_.Finish();
  if (leaves_ != 0) CloseNode();
  prefix_.insert(prefix_.end(), sums_.begin(), sums_.end());
  entry.node_offset = out_.offset();
  out_.AppendArray(std::span(forest_.nodes()));
  entry.prefix_offset = out_.offset();
  out_.AppendArray(std::span<const std::uint64_t>(prefix_));
}

void IntervalRowWriter::CloseNode() {
  forest_.Append(node_, MergeNodes);
  node_ = EmptyNode();
}

}  // namespace countrace::viewer
