// Rows of numbers as they are stored: in blocks of kPackedBlock rows, each
// field with as many bits as the block needs. Any number is read alone.
//
// A block: for each field its base, u64; where its bits begin in a row, u16,
// and after the last one the bits of a row, padded to 8 bytes; then the rows'
// bits. A value is base + bits; with kFromReference, reference - base - bits,
// since an on-CPU time or a clock is often just its reference.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_PACKED_BLOCK_H_
#define COUNTRACE_VIEWER_INDEX_FILE_PACKED_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

inline constexpr std::uint16_t kFromReference = 1u << 15;
inline constexpr std::uint16_t kBitMask = kFromReference - 1;

// The fields of all rows. Requires: reference < derived <= fields < 512.
struct PackedShape {
  std::size_t fields;
  std::size_t derived;  // fields from this one on may be from the reference
  std::size_t reference = 0;

  constexpr std::size_t header_bytes() const {
    return 8 * fields + (2 * (fields + 1) + 7) / 8 * 8;
  }
};

// Of RowKind::kFault: a row's only number is its time.
inline constexpr PackedShape kFaultShape{.fields = 1, .derived = 1};

// Collects the rows of one block. Thread: one.
class PackedBlockWriter {
 public:
  explicit PackedBlockWriter(PackedShape shape)
      : shape_(shape), values_(shape.fields * kPackedBlock) {}

  bool full() const { return rows_ == kPackedBlock; }
  bool empty() const { return rows_ == 0; }
  // Begins a row; all its fields are to be set. Requires: not full.
  void AddRow() { ++rows_; }
  void Set(std::size_t field, std::uint64_t value) {
    values_[field * kPackedBlock + rows_ - 1] = value;
  }
  // The block's bytes, valid until the next call; the writer is empty again.
  // Requires: not empty.
  std::span<const std::byte> Take();

 private:
  PackedShape shape_;
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> values_;  // of field after field
  std::vector<std::uint64_t> words_;   // of the block
};

// Reads the numbers of one array of rows. Safe for any bytes: what lies outside
// the file is 0. Thread: any.
class PackedBlocks {
 public:
  // `offsets`: one for each block, in `file`.
  PackedBlocks(std::span<const std::byte> file, const std::uint64_t* offsets,
               PackedShape shape)
      : file_(file), offsets_(offsets), shape_(shape) {}

  // Where a row is.
  struct Place {
    std::uint64_t header;  // of its block: offset in the file
    std::uint64_t row;     // in its block
    bool inside;           // the header is in the file
  };
  Place At(std::uint64_t row) const {
    const std::uint64_t offset = offsets_[row / kPackedBlock];
    return {offset, row % kPackedBlock,
            IsInside(offset, shape_.header_bytes())};
  }
  std::uint64_t Value(const Place& place, std::size_t field) const {
    if (!place.inside) return 0;
    const std::byte* const header = file_.data() + place.header;
    const std::byte* const begins = header + 8 * shape_.fields;
    const auto begin = Load<std::uint16_t>(begins + 2 * field);
    const unsigned from = begin & kBitMask;
    const unsigned to =
        Load<std::uint16_t>(begins + 2 * (field + 1)) & kBitMask;
    std::uint64_t value = Load<std::uint64_t>(header + 8 * field);
    if (to > from) {
      const std::uint64_t row_bits =
          Load<std::uint16_t>(begins + 2 * shape_.fields) & kBitMask;
      value += Bits(place.header + shape_.header_bytes(),
                    place.row * row_bits + from, to - from);
    }
    return field >= shape_.derived && (begin & kFromReference) != 0
               ? Value(place, shape_.reference) - value
               : value;
  }
  std::uint64_t Value(std::uint64_t row, std::size_t field) const {
    return Value(At(row), field);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;

  bool IsInside(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= file_.size() && bytes <= file_.size() - offset;
  }
  template <typename T>
  static T Load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
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
  PackedShape shape_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_PACKED_BLOCK_H_
