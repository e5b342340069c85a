// Packed leaves: any leaves come back, and any bytes can be read.
#include "viewer/index/leaf_block.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/property_runs.h"

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
  const std::size_t leaves = 1 + random() % (3 * kIntervalBlock);
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
  LeafBlockWriter writer(extras);
  const auto close = [&] {
    packed.offsets.push_back(packed.bytes.size());
    const std::vector<std::byte> block = writer.Take();
    CHECK(block.size() % 8 == 0);
    packed.bytes.insert(packed.bytes.end(), block.begin(), block.end());
  };
  for (std::size_t i = 0; i < row.leaves.size(); ++i) {
    writer.Add(row.leaves[i], row.extras[i]);
    if (writer.full()) close();
  }
  if (!writer.empty()) close();
  packed.bytes.resize(packed.bytes.size() + 16);  // an index goes on
  return packed;
}

}  // namespace

TEST_CASE("leaf_block: all leaves come back", "[viewer]") {
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

TEST_CASE("leaf_block: leaves of one kind take few bits", "[viewer]") {
  // 64 calls of one function, 1,000 ns each, all of it on a CPU.
  LeafBlockWriter writer(1);
  for (std::uint64_t i = 0; i < kIntervalBlock; ++i) {
    const std::uint64_t wall_ns = 1000 + i % 2;
    writer.Add({.begin_ns = i * 1001,
                .end_ns = i * 1001 + wall_ns,
                .key = 7,
                .flags = 0},
               std::span(&wall_ns, 1));
  }
  // 16 bits of begin and one of wall time.
  CHECK(writer.Take().size() == LeafBlockHeaderBytes(5) + 64 * 17 / 8);
}

TEST_CASE("leaf_block: damaged blocks give any values, from the file alone",
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
