// Packed rows: any numbers come back, and any bytes can be read.
#include "viewer/index/file/packed_block.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/property_runs.h"
#include "viewer/index/file/leaf_block.h"

namespace countrace::viewer {
namespace {

struct Row {
  std::vector<IntervalLeaf> leaves;
  std::vector<std::vector<std::uint64_t>> extras;
};

// Values of any number of bits, and those that mean something of their own.
std::uint64_t AnyValue(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return kUnknownTime;
    case 1:
      return 0;
    default:
      return random() >> (random() % 64);
  }
}

Row RandomRow(std::mt19937_64& random, std::uint32_t extras) {
  Row row;
  const std::size_t leaves = 1 + random() % (3 * kPackedBlock);
  const bool wild = random() % 4 == 0;
  std::uint64_t now_ns = random() >> (random() % 64);
  for (std::size_t i = 0; i < leaves; ++i) {
    IntervalLeaf leaf{};
    leaf.begin_ns = wild ? AnyValue(random) : now_ns;
    leaf.end_ns = leaf.begin_ns + (wild ? AnyValue(random) : random() % 5000);
    leaf.key =
        random() % 5 == 0 ? kNoKey : static_cast<std::uint32_t>(random() % 40);
    leaf.flags = static_cast<std::uint32_t>(random() % 3 << (random() % 30));
    now_ns = leaf.end_ns + random() % 100;
    row.leaves.push_back(leaf);
    std::vector<std::uint64_t>& values = row.extras.emplace_back();
    for (std::uint32_t which = 0; which < extras; ++which) {
      // Often it is the wall time, or most of it.
      values.push_back(random() % 3 == 0
                           ? AnyValue(random)
                           : leaf.end_ns - leaf.begin_ns - random() % 2);
    }
  }
  return row;
}

struct Packed {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> offsets;
};

Packed Pack(const Row& row, std::uint32_t extras) {
  Packed packed;
  PackedBlockWriter writer(LeafShape(extras));
  const auto close = [&] {
    packed.offsets.push_back(packed.bytes.size());
    const std::span<const std::byte> block = writer.Take();
    CHECK(block.size() % 8 == 0);
    packed.bytes.insert(packed.bytes.end(), block.begin(), block.end());
  };
  for (std::size_t i = 0; i < row.leaves.size(); ++i) {
    AddLeafRow(row.leaves[i], row.extras[i], writer);
    if (writer.full()) close();
  }
  if (!writer.empty()) close();
  packed.bytes.resize(packed.bytes.size() + 16);  // an index goes on
  return packed;
}

}  // namespace

TEST_CASE("packed_block: all leaves come back", "[viewer]") {
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(2000u);
       ++seed) {
    std::mt19937_64 random(seed);
    CAPTURE(seed);
    const auto extras = static_cast<std::uint32_t>(random() % 7);
    const Row row = RandomRow(random, extras);
    const Packed packed = Pack(row, extras);
    const LeafBlocks blocks(packed.bytes, packed.offsets.data(), extras);
    bool same = true;
    for (std::size_t i = 0; i < row.leaves.size(); ++i) {
      const IntervalLeaf leaf = blocks.Leaf(i);
      same &= leaf.begin_ns == row.leaves[i].begin_ns &&
              leaf.end_ns == row.leaves[i].end_ns &&
              leaf.key == row.leaves[i].key &&
              leaf.flags == row.leaves[i].flags &&
              blocks.Begin(i) == leaf.begin_ns;
      for (std::uint32_t which = 0; which < extras; ++which) {
        same &= blocks.Extra(i, which) == row.extras[i][which];
      }
    }
    REQUIRE(same);
  }
}

// Dumps of a counter have their clocks from the time, not from another field.
TEST_CASE("packed_block: a field may be what the reference lacks", "[viewer]") {
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(500u);
       ++seed) {
    std::mt19937_64 random(seed);
    CAPTURE(seed);
    const std::size_t fields = 1 + random() % 70;
    const std::size_t reference = random() % fields;
    const PackedShape shape{
        .fields = fields,
        .derived = reference + 1 + random() % (fields - reference),
        .reference = reference};
    std::vector<std::vector<std::uint64_t>> rows(1 + random() % kPackedBlock);
    PackedBlockWriter writer(shape);
    for (std::vector<std::uint64_t>& row : rows) {
      writer.AddRow();
      for (std::size_t field = 0; field < fields; ++field) {
        const bool near = field > reference && random() % 2 == 0;
        row.push_back(near ? row[reference] - random() % 9 : AnyValue(random));
        writer.Set(field, row[field]);
      }
    }
    const std::span<const std::byte> block = writer.Take();
    std::vector<std::byte> bytes(block.begin(), block.end());
    bytes.resize(bytes.size() + 16);
    const std::uint64_t offset = 0;
    const PackedBlocks blocks(bytes, &offset, shape);
    bool same = true;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t field = 0; field < fields; ++field) {
        same &= blocks.Value(row, field) == rows[row][field];
      }
    }
    REQUIRE(same);
  }
}

TEST_CASE("packed_block: 64 clocks that follow the time take its bits alone",
          "[viewer]") {
  constexpr PackedShape kShape{.fields = 3, .derived = 1, .reference = 0};
  PackedBlockWriter writer(kShape);
  for (std::uint64_t i = 0; i < kPackedBlock; ++i) {
    writer.AddRow();
    writer.Set(0, 1000 * i);
    writer.Set(1, 1000 * i - 30);
    writer.Set(2, 1000 * i + 700);
  }
  CHECK(writer.Take().size() == kShape.header_bytes() + 64 * 16 / 8);
}

TEST_CASE("packed_block: leaves of one kind take few bits", "[viewer]") {
  // 64 calls of one function, 1,000 ns each, all of it on a CPU.
  PackedBlockWriter writer(LeafShape(1));
  for (std::uint64_t i = 0; i < kPackedBlock; ++i) {
    const std::uint64_t wall_ns = 1000 + i % 2;
    AddLeafRow({.begin_ns = i * 1001,
                .end_ns = i * 1001 + wall_ns,
                .key = 7,
                .flags = 0},
               std::span(&wall_ns, 1), writer);
  }
  // 16 bits of begin and one of wall time.
  CHECK(writer.Take().size() == LeafShape(1).header_bytes() + 64 * 17 / 8);
}

TEST_CASE("packed_block: damaged blocks give any values, from the file alone",
          "[viewer]") {
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(500u);
       ++seed) {
    std::mt19937_64 random(seed);
    const auto extras = static_cast<std::uint32_t>(random() % 4);
    const Row row = RandomRow(random, extras);
    Packed packed = Pack(row, extras);
    // Sanitizers see a read outside of this copy.
    std::vector<std::byte> bytes(
        packed.bytes.begin(),
        packed.bytes.end() - random() % 40 % packed.bytes.size());
    for (int i = 0; i < 20; ++i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    packed.offsets[0] = AnyValue(random);
    const LeafBlocks blocks(bytes, packed.offsets.data(), extras);
    for (std::size_t i = 0; i < row.leaves.size(); ++i) {
      (void)blocks.Leaf(i);
      for (std::uint32_t which = 0; which < extras; ++which) {
        (void)blocks.Extra(i, which);
      }
    }
  }
}

}  // namespace countrace::viewer
