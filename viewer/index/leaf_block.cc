#include "viewer/index/leaf_block.h"

#include <algorithm>
#include <bit>

namespace countrace::viewer {
namespace {

struct Packing {
  std::uint64_t base = 0;
  unsigned width = 0;
};

// The fewest bits for `value(leaf)` of all leaves.
template <typename Value>
Packing PackingOf(std::size_t leaves, Value value) {
  std::uint64_t least = value(0), most = least;
  for (std::size_t leaf = 1; leaf < leaves; ++leaf) {
    least = std::min(least, value(leaf));
    most = std::max(most, value(leaf));
  }
  return {least, static_cast<unsigned>(std::bit_width(most - least))};
}

void PutBits(std::byte* bytes, std::uint64_t bit, std::uint64_t value,
             unsigned width) {
  for (unsigned done = 0; done < width;) {
    const unsigned shift = static_cast<unsigned>((bit + done) % 8);
    bytes[(bit + done) / 8] |= static_cast<std::byte>(
        static_cast<std::uint8_t>((value >> done) << shift));
    done += 8 - shift;
  }
}

}  // namespace

void LeafBlockWriter::Add(const IntervalLeaf& leaf,
                          std::span<const std::uint64_t> extras) {
  values_.insert(values_.end(), {leaf.begin_ns, leaf.end_ns - leaf.begin_ns,
                                 std::uint32_t{leaf.key + 1}, leaf.flags});
  values_.insert(values_.end(), extras.begin(), extras.end());
}

std::vector<std::byte> LeafBlockWriter::Take() {
  const std::size_t count = leaves();
  const auto value = [this](std::size_t leaf, std::size_t field) {
    return values_[leaf * fields_ + field];
  };
  std::vector<Packing> packings(fields_);
  std::vector<std::uint16_t> from(fields_ + 1);
  std::size_t bits = 0;
  for (std::size_t field = 0; field < fields_; ++field) {
    Packing& packing = packings[field];
    packing = PackingOf(count, [&](std::size_t i) { return value(i, field); });
    from[field] = static_cast<std::uint16_t>(bits);
    if (field >= kLeafExtras) {
      const Packing rest = PackingOf(count, [&](std::size_t i) {
        return value(i, kLeafWall) - value(i, field);
      });
      if (rest.width < packing.width) {
        packing = rest;
        from[field] |= kFromWall;
        for (std::size_t i = 0; i < count; ++i) {
          values_[i * fields_ + field] = value(i, kLeafWall) - value(i, field);
        }
      }
    }
    bits += packing.width;
  }
  from[fields_] = static_cast<std::uint16_t>(bits);

  const std::size_t header_bytes = LeafBlockHeaderBytes(fields_);
  std::vector<std::byte> bytes(header_bytes + (bits * count + 63) / 64 * 8);
  for (std::size_t field = 0; field < fields_; ++field) {
    std::memcpy(bytes.data() + 8 * field, &packings[field].base, 8);
  }
  std::memcpy(bytes.data() + 8 * fields_, from.data(), 2 * from.size());
  for (std::size_t leaf = 0; leaf < count; ++leaf) {
    for (std::size_t field = 0; field < fields_; ++field) {
      PutBits(bytes.data() + header_bytes,
              leaf * bits + (from[field] & kBitMask),
              value(leaf, field) - packings[field].base, packings[field].width);
    }
  }
  values_.clear();
  return bytes;
}

}  // namespace countrace::viewer
