#include "viewer/index/file/packed_block.h"

#include <algorithm>
#include <bit>

namespace countrace::viewer {
namespace {

struct Packing {
  std::uint64_t base;
  unsigned width;
};

Packing PackingOf(std::uint64_t least, std::uint64_t most) {
  return {least, static_cast<unsigned>(std::bit_width(most - least))};
}

Packing PackingOf(std::span<const std::uint64_t> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return PackingOf(*least, *most);
}

// The same, of reference - value.
Packing PackingOf(std::span<const std::uint64_t> references,
                  std::span<const std::uint64_t> values) {
  std::uint64_t least = references[0] - values[0], most = least;
  for (std::size_t i = 1; i < values.size(); ++i) {
    least = std::min(least, references[i] - values[i]);
    most = std::max(most, references[i] - values[i]);
  }
  return PackingOf(least, most);
}

// Writes bits one after another.
class BitWriter {
 public:
  explicit BitWriter(std::uint64_t* words) : words_(words) {}
  // Requires: `value` has no more than `width` bits.
  void Put(std::uint64_t value, unsigned width) {
    if (width == 0) return;
    word_ |= value << used_;
    used_ += width;
    if (used_ < 64) return;
    *words_++ = word_;
    used_ -= 64;
    word_ = used_ == 0 ? 0 : value >> (width - used_);
  }
  void Finish() {
    if (used_ != 0) *words_ = word_;
  }

 private:
  std::uint64_t* words_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  // bits of it
};

}  // namespace

std::span<const std::byte> PackedBlockWriter::Take() {
  const std::size_t header_words = shape_.header_bytes() / 8;
  words_.assign(header_words, 0);
  auto* const begins = reinterpret_cast<std::byte*>(&words_[shape_.fields]);
  unsigned widths[512];
  unsigned bits = 0;
  const auto column = [this](std::size_t field) {
    return std::span(values_).subspan(field * kPackedBlock, rows_);
  };
  const auto begins_at = [&](std::size_t field, unsigned flag) {
    const auto begin = static_cast<std::uint16_t>(bits | flag);
    std::memcpy(begins + 2 * field, &begin, sizeof(begin));
  };
  const std::span<const std::uint64_t> references = column(shape_.reference);
  for (std::size_t field = 0; field < shape_.fields; ++field) {
    const std::span<std::uint64_t> values = column(field);
    Packing packing = PackingOf(values);
    unsigned flag = 0;
    if (field >= shape_.derived) {
      const Packing rest = PackingOf(references, values);
      if (rest.width < packing.width) {
        packing = rest;
        flag = kFromReference;
        for (std::size_t i = 0; i < rows_; ++i) {
          values[i] = references[i] - values[i];
        }
      }
    }
    begins_at(field, flag);
    words_[field] = packing.base;
    widths[field] = packing.width;
    bits += packing.width;
  }
  begins_at(shape_.fields, 0);

  words_.resize(header_words + (bits * rows_ + 63) / 64);
  BitWriter writer(words_.data() + header_words);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t field = 0; field < shape_.fields; ++field) {
      writer.Put(values_[field * kPackedBlock + row] - words_[field],
                 widths[field]);
    }
  }
  writer.Finish();
  rows_ = 0;
  return std::as_bytes(std::span<const std::uint64_t>(words_));
}

}  // namespace countrace::viewer
