// Writes rows of numbers, block after block, and where the blocks are.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_PACKED_ROW_WRITER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_PACKED_ROW_WRITER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "viewer/index/build/index_file_writer.h"
#include "viewer/index/file/packed_block.h"

namespace countrace::viewer {

// Blocks go to the file as they are full; memory: one block and the offsets.
// Thread: one.
class PackedRowWriter {
 public:
  PackedRowWriter(IndexFileWriter& out, PackedShape shape)
      : out_(out), block_(shape) {}

  // As PackedBlockWriter.
  void AddRow() {
    if (block_.full()) Close();
    block_.AddRow();
  }
  void Set(std::size_t field, std::uint64_t value) { block_.Set(field, value); }
  // Writes the rest and the offsets. Returns: the place of these. Call once.
  std::uint64_t Finish() {
    if (!block_.empty()) Close();
    const std::uint64_t place = out_.offset();
    out_.AppendArray(std::span<const std::uint64_t>(offsets_));
    return place;
  }

 private:
  void Close() {
    offsets_.push_back(out_.offset());
    out_.Append(block_.Take());
  }

  IndexFileWriter& out_;
  PackedBlockWriter block_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_PACKED_ROW_WRITER_H_
