// A preparer that stores the checksum of a packet late, while the recorder of a
// flight recording overwrites that packet: whichever comes first, the stream
// holds packets with the right checksums, and zeros.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "logformat/event_schema.h"
#include "logformat/packet_checksum.h"
#include "logformat/packet_layout.h"
#include "logformat/read/record_table.h"
#include "logformat/trace_info.h"
#include "logformat/write/flight_stream.h"
#include "runtime/inprocess/ring/ring_packets.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

namespace lf = countrace::logformat;
using test_support::TempDirectory;

constexpr std::size_t kPackets = 5;
constexpr std::size_t kMayBeDropped = 3;  // the two newest stay
constexpr std::size_t kBytes = 256 << 10;
constexpr std::uint16_t kPointId = 2 * lf::kHookIdAutomaticMin;
constexpr char kStream[] = "thread-1-1";
using Clock = std::chrono::steady_clock;

// A stream of a thread whose preparer has not run: closed packets, no checksum.
void WriteStream(const std::string& path) {
  std::vector<std::byte> file(kPackets * kBytes);
  std::uint64_t time_ns = 0;
  for (std::size_t i = 0; i < kPackets; ++i) {
    std::byte* const at = file.data() + i * kBytes;
    lf::PacketHead head = {};
    head.magic = lf::kPacketMagic;
    head.stream_class = static_cast<std::uint32_t>(lf::StreamClass::kThread);
    head.begin_ns = time_ns;
    for (std::size_t place = lf::kPacketHeadBytes; place < kBytes; place += 8) {
      const std::uint64_t word = lf::HeaderWord(kPointId, ++time_ns);
      std::memcpy(at + place, &word, sizeof(word));
    }
    head.end_ns = time_ns;
    head.content_bits = head.packet_bits = kBytes * 8;
    head.sequence = static_cast<std::uint32_t>(i);
    head.cpu = -1;
    head.pid = head.tid = 1;
    std::memcpy(at, &head, sizeof(head));
  }
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()),
             static_cast<std::streamsize>(file.size()));
}

// Returns the number of records in it and overwritten ones.
std::uint64_t CheckStream(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(file.size() == kPackets * kBytes);
  std::uint64_t records = 0, lost = 0;
  for (std::size_t at = 0; at < file.size();) {
    CAPTURE(at);
    lf::PacketHead head;
    std::memcpy(&head, &file[at], sizeof(head));
    REQUIRE(head.magic == lf::kPacketMagic);
    REQUIRE(head.content_bits >= lf::kPacketHeadBytes * 8);
    REQUIRE(head.packet_bits >= head.content_bits);
    CHECK(head.checksum ==
          lf::PacketChecksum(head, &file[at + lf::kPacketHeadBytes]));
    const std::size_t end = at + head.packet_bits / 8;
    const std::size_t used = at + head.content_bits / 8;
    // The page of the head keeps what was in it; the others are a hole.
    const std::size_t hole = std::max(used, at + lf::kPacketAlignBytes);
    CHECK(std::all_of(file.data() + hole, file.data() + end,
                      [](char byte) { return byte == 0; }));
    records += (used - at - lf::kPacketHeadBytes) / 8;
    lost = head.discarded;  // cumulative
    at = end;
  }
  return records + lost;
}

TEST_CASE("late checksum: a packet that is overwritten meanwhile stays right",
          "[runtime]") {
  lf::TraceInfo info;
  info.hooks.push_back({.id = lf::kHookIdAutomaticMin,
                        .provider = "p",
                        .name = "point",
                        .location = "a.cc:1",
                        .payload = {}});
  const lf::RecordTable table(lf::EventClasses(info), lf::StreamClass::kThread);
  REQUIRE(table.fixed_bytes(kPointId) == 8);
  constexpr std::uint64_t kRecords =
      kPackets * (kBytes - lf::kPacketHeadBytes) / 8;

  // How long overwriting takes: the preparer begins at any moment of it.
  std::chrono::nanoseconds overwriting{};
  constexpr unsigned kRounds = 400;
  for (unsigned round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    TempDirectory temp(TempDirectory::Place::kMemory);
    const std::string path = temp / kStream;
    WriteStream(path);
    std::array<SubBuffer, kMayBeDropped> left{};
    {
      const base::ScopedFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
      for (std::size_t i = 0; i < left.size(); ++i) {
        void* const memory =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(),
                 static_cast<off_t>(i * kBytes));
        REQUIRE(memory != MAP_FAILED);
        left[i] = {static_cast<std::byte*>(memory), kBytes, kBytes, 0};
      }
    }
    lf::FlightStream stream(temp.path(), {kStream, lf::StreamClass::kThread});
    REQUIRE(stream.FindClosed().ok());

    std::atomic<bool> ready{false}, go{false};
    const auto late = overwriting * round / kRounds;
    std::thread preparer([&] {
      ready = true;
      while (!go) {
      }
      const auto begin = Clock::now();
      while (Clock::now() - begin < late) {
      }
      for (const SubBuffer& packet : left) StoreChecksum(packet);
    });
    while (!ready) std::this_thread::yield();
    go = true;
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kMayBeDropped; ++i) {
      REQUIRE(stream.DropOldest(table).value() == kBytes);
    }
    if (round % 4 == 0) overwriting = Clock::now() - begin;
    if (round % 2 == 0) preparer.join();  // else it may outlive the recording
    REQUIRE(stream.Renumber().ok());
    if (round % 2 != 0) preparer.join();

    CHECK(CheckStream(path) == kRecords);
    for (const SubBuffer& packet : left) munmap(packet.address, packet.bytes);
  }
}

}  // namespace
}  // namespace countrace::runtime
