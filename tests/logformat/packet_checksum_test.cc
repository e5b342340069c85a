// The checksum of packets: the published values, the same by instruction and by
// tables, in one piece and in several, and after a change of the head.
#include "logformat/packet_checksum.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/property_runs.h"

namespace countrace::logformat {
namespace {

TEST_CASE("checksum: the values of RFC 3720, B.4", "[logformat][checksum]") {
  std::string ascending(32, '\0');
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    ascending[i] = static_cast<char>(i);
  }
  for (const auto& crc : {Crc32c, Crc32cByTables}) {
    CHECK(crc(0, "123456789", 9) == 0xe3069283);
    CHECK(crc(0, std::string(32, '\0').data(), 32) == 0x8a9136aa);
    CHECK(crc(0, std::string(32, '\xff').data(), 32) == 0x62a8ab43);
    CHECK(crc(0, ascending.data(), 32) == 0x46dd794e);
  }
}

TEST_CASE("checksum: the same by instruction, by tables and in pieces",
          "[logformat][checksum]") {
  std::mt19937 random(1);
  std::vector<unsigned char> bytes(100'000);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  for (int round = 0; round < test_support::PropertyRuns(300); ++round) {
    // Short ones, and those that are taken in three parts.
    const std::size_t most = round % 2 == 0 ? 100 : bytes.size() - 8;
    const std::size_t size = random() % most, from = random() % 8;
    const std::size_t first = size == 0 ? 0 : random() % size;
    const unsigned char* const at = bytes.data() + from;
    CAPTURE(size, from, first);
    const std::uint32_t crc = Crc32c(0, at, size);
    CHECK(crc == Crc32cByTables(0, at, size));
    CHECK(crc == Crc32c(Crc32c(0, at, first), at + first, size - first));
  }
}

TEST_CASE("checksum: of a changed head without its records",
          "[logformat][checksum]") {
  std::mt19937 random(2);
  for (int round = 0; round < test_support::PropertyRuns(200); ++round) {
    std::vector<unsigned char> records(random() % 50'000 / 8 * 8);
    for (unsigned char& byte : records) {
      byte = static_cast<unsigned char>(random());
    }
    PacketHead before{};
    before.content_bits = (kPacketHeadBytes + records.size()) * 8;
    before.begin_ns = random();
    before.checksum = PacketChecksum(before, records.data());
    PacketHead after = before;
    after.sequence = static_cast<std::uint32_t>(random());
    after.discarded = random();
    // As a text at the end leaves it: the padding is covered, too.
    if (!records.empty()) after.content_bits -= random() % 8 * 8;
    after.checksum = ChangedChecksum(before, after);
    CHECK(after.checksum == PacketChecksum(after, records.data()));
    // A wrong one stays wrong.
    before.checksum ^= 1;
    CHECK(ChangedChecksum(before, after) !=
          PacketChecksum(after, records.data()));
  }
}

}  // namespace
}  // namespace countrace::logformat
