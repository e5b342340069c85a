// Leaves of an interval row as they are stored (packed_block.h). Fields: begin,
// wall time, key + 1 (kNoKey is 0), flags, extras.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_LEAF_BLOCK_H_
#define COUNTRACE_VIEWER_INDEX_FILE_LEAF_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/packed_block.h"

namespace countrace::viewer {

enum LeafField : std::uint32_t {
  kLeafBegin,
  kLeafWall,
  kLeafKey,
  kLeafFlagBits,
  kLeafExtras,  // the first of them
};

constexpr PackedShape LeafShape(std::uint32_t extras) {
  return {.fields = kLeafExtras + std::size_t{extras},
          .derived = kLeafExtras,
          .reference = kLeafWall};
}

// Adds a leaf to a PackedBlockWriter or a PackedRowWriter.
template <typename Writer>
void AddLeafRow(const IntervalLeaf& leaf, std::span<const std::uint64_t> extras,
                Writer& writer) {
  writer.AddRow();
  writer.Set(kLeafBegin, leaf.begin_ns);
  writer.Set(kLeafWall, leaf.end_ns - leaf.begin_ns);
  writer.Set(kLeafKey, std::uint32_t{leaf.key + 1});
  writer.Set(kLeafFlagBits, leaf.flags);
  for (std::size_t i = 0; i < extras.size(); ++i) {
    writer.Set(kLeafExtras + i, extras[i]);
  }
}

// Reads the leaves of one row, as PackedBlocks.
class LeafBlocks {
 public:
  LeafBlocks(std::span<const std::byte> file, const std::uint64_t* offsets,
             std::uint32_t extras)
      : blocks_(file, offsets, LeafShape(extras)) {}

  std::uint64_t Begin(std::uint64_t number) const {
    return blocks_.Value(number, kLeafBegin);
  }
  IntervalLeaf Leaf(std::uint64_t number) const {
    const PackedBlocks::Place at = blocks_.At(number);
    const std::uint64_t begin_ns = blocks_.Value(at, kLeafBegin);
    return {
        .begin_ns = begin_ns,
        .end_ns = begin_ns + blocks_.Value(at, kLeafWall),
        .key = static_cast<std::uint32_t>(blocks_.Value(at, kLeafKey) - 1),
        .flags = static_cast<std::uint32_t>(blocks_.Value(at, kLeafFlagBits))};
  }
  std::uint64_t Extra(std::uint64_t number, std::uint32_t which) const {
    return blocks_.Value(number, kLeafExtras + which);
  }

 private:
  PackedBlocks blocks_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_LEAF_BLOCK_H_
