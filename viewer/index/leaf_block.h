// Leaves of an interval row as they are stored: in blocks of kIntervalBlock,
// each field with as many bits as the block needs. Any leaf is read alone.
//
// A block: for each field its base, u64; where its bits begin in a leaf, u16,
// and after the last one the bits of a leaf, padded to 8 bytes; then the
// leaves' bits. A value is base + bits; with kFromWall, wall time - base -
// bits, since an on-CPU time or a clock is often just that. Fields: begin, wall
// time, key + 1 (kNoKey is 0), flags, extras.
#ifndef COUNTRACE_VIEWER_INDEX_LEAF_BLOCK_H_
#define COUNTRACE_VIEWER_INDEX_LEAF_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "viewer/index/file_layout.h"

namespace countrace::viewer {

enum LeafField : std::uint32_t {
  kLeafBegin,
  kLeafWall,
  kLeafKey,
  kLeafFlagBits,
  kLeafExtras,  // the first of them
};
inline constexpr std::uint16_t kFromWall = 1u << 15;
inline constexpr std::uint16_t kBitMask = kFromWall - 1;

constexpr std::size_t LeafBlockHeaderBytes(std::size_t fields) {
  return 8 * fields + (2 * (fields + 1) + 7) / 8 * 8;
}

// Collects the leaves of one block. Thread: one.
class LeafBlockWriter {
 public:
  explicit LeafBlockWriter(std::uint32_t extras)
      : fields_(kLeafExtras + std::size_t{extras}) {}
  void Add(const IntervalLeaf& leaf, std::span<const std::uint64_t> extras);
  bool full() const { return leaves() == kIntervalBlock; }
  bool empty() const { return values_.empty(); }
  // The block's bytes, a multiple of 8; the writer is empty again.
  std::vector<std::byte> Take();

 private:
  std::size_t leaves() const { return values_.size() / fields_; }

  std::size_t fields_;
  std::vector<std::uint64_t> values_;  // of leaf after leaf
};

// Reads the leaves of one row. Safe for any bytes: what lies outside the file
// is 0. Thread: any.
class LeafBlocks {
 public:
  // `offsets`: one for each block, in `file`.
  LeafBlocks(std::span<const std::byte> file, const std::uint64_t* offsets,
             std::uint32_t extras)
      : file_(file),
        offsets_(offsets),
        fields_(kLeafExtras + std::size_t{extras}) {}

  std::uint64_t Begin(std::uint64_t number) const {
    return Value(At(number), kLeafBegin);
  }
  IntervalLeaf Leaf(std::uint64_t number) const {
    const Place at = At(number);
    const std::uint64_t begin_ns = Value(at, kLeafBegin);
    return {.begin_ns = begin_ns,
            .end_ns = begin_ns + Value(at, kLeafWall),
            .key = static_cast<std::uint32_t>(Value(at, kLeafKey) - 1),
            .flags = static_cast<std::uint32_t>(Value(at, kLeafFlagBits))};
  }
  std::uint64_t Extra(std::uint64_t number, std::uint32_t which) const {
    return Value(At(number), kLeafExtras + which);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;
  struct Place {
    std::uint64_t header;  // offset in the file
    std::uint64_t leaf;    // in its block
    bool inside;           // the header is in the file
  };

  bool IsInside(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }
  Place At(std::uint64_t number) const {
    const std::uint64_t offset = offsets_[number / kIntervalBlock];
    return {offset, number % kIntervalBlock,
            IsInside(offset, LeafBlockHeaderBytes(fields_))};
  }
  template <typename T>
  static T Load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::uint64_t Value(const Place& place, std::size_t field) const {
    if (!place.inside) return 0;
    const std::byte* const header = file_.data() + place.header;
    const std::byte* const begins = header + 8 * fields_;
    const auto begin = Load<std::uint16_t>(begins + 2 * field);
    const unsigned from = begin & kBitMask;
    const unsigned to =
        Load<std::uint16_t>(begins + 2 * (field + 1)) & kBitMask;
    std::uint64_t value = Load<std::uint64_t>(header + 8 * field);
    if (to > from) {
      const std::uint64_t leaf_bits = Load<std::uint16_t>(begins + 2 * fields_);
      value += Bits(place.header + LeafBlockHeaderBytes(fields_),
                    place.leaf * leaf_bits + from, to - from);
    }
    return field >= kLeafExtras && (begin & kFromWall) != 0
               ? Value(place, kLeafWall) - value
               : value;
  }
  // `width`: from 1 on; of more than 64 bits, the first 64.
  std::uint64_t Bits(std::uint64_t offset, std::uint64_t bit,
                     unsigned width) const {
    const std::uint64_t at = offset + bit / 8;
    if (!IsInside(at, sizeof(Wide))) return 0;
    const auto bits =
        static_cast<std::uint64_t>(Load<Wide>(file_.data() + at) >> (bit % 8));
    return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  }

  std::span<const std::byte> file_;
  const std::uint64_t* offsets_;
  std::size_t fields_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_LEAF_BLOCK_H_
