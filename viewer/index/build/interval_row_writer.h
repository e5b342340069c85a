// Writes one row of intervals: packed leaves, their nodes and prefix sums.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_INTERVAL_ROW_WRITER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_INTERVAL_ROW_WRITER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "viewer/index/build/index_file_writer.h"
#include "viewer/index/build/packed_row_writer.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/forest.h"

namespace countrace::viewer {

// Leaves go to the file as they come; memory: the row's nodes, prefix sums and
// offsets. Thread: one.
class IntervalRowWriter {
 public:
  // `extras`: of each leaf.
  IntervalRowWriter(IndexFileWriter& out, std::uint32_t extras);
  // `key`: of its colour.
  void Add(const IntervalLeaf& leaf, std::uint32_t key,
           std::span<const std::uint64_t> extras);
  // Fills in where they are. Call once, after the last leaf.
  void Finish(RowEntry& entry);
  // Wall time, then the extras, of all leaves.
  const std::vector<std::uint64_t>& totals() const { return sums_; }

 private:
  void CloseNode();

  IndexFileWriter& out_;
  PackedRowWriter rows_;
  std::uint64_t leaves_ = 0;
  std::vector<std::uint64_t> sums_, prefix_;
  IntervalNode node_;
  ForestBuilder<IntervalNode> forest_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_INTERVAL_ROW_WRITER_H_
