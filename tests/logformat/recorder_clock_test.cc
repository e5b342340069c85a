// Which clocks of packets are the recorder's.
#include "logformat/repair/recorder_clock.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace countrace::logformat {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kBegin = 5000 * kMs;
constexpr std::uint64_t kEnd = kBegin + 60'000 * kMs;
// A raw counter of 3 GHz.
constexpr std::uint64_t RawAt(std::uint64_t ns) { return 3 * ns + 77; }
constexpr RecorderClock kClock = {{RawAt(kBegin), kBegin}, {RawAt(kEnd), kEnd}};
constexpr RecorderClock kWithoutRaw = {{0, kBegin}, {0, kEnd}};

ScannedPacket PacketAt(std::uint64_t ns, std::int64_t ahead_ns) {
  ScannedPacket packet;
  packet.head.raw_begin = RawAt(ns);
  packet.head.monotonic_begin = ns + static_cast<std::uint64_t>(ahead_ns);
  return packet;
}

TEST_CASE("the recorder's own clock is never refused, also slewed",
          "[recorder_clock]") {
  std::mt19937_64 random(20261128);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t from_begin = random() % (kEnd - kBegin);
    const std::uint64_t nearer =
        std::min(from_begin, kEnd - kBegin - from_begin);
    // The most that the kernel slews, both ways, and an interrupt.
    const auto most = static_cast<std::int64_t>(nearer / 1000 + kMs * 9 / 10);
    const std::int64_t ahead =
        static_cast<std::int64_t>(random() % (2 * most + 1)) - most;
    INFO(from_begin << " " << ahead);
    CHECK(ClockAheadNs({PacketAt(kBegin + from_begin, ahead)}, kClock) == 0);
  }
}

TEST_CASE("a clock that is 1 ms off near the begin or the end is refused",
          "[recorder_clock]") {
  for (const std::int64_t ahead :
       {std::int64_t{1'100'000}, std::int64_t{-1'100'000},
        std::int64_t{1'577'834'515} * 1'000'000'000,
        std::int64_t{-1'296'000} * 1'000'000'000}) {
    for (const std::uint64_t at : {kBegin + 10 * kMs, kEnd - 10 * kMs}) {
      const std::int64_t found = ClockAheadNs({PacketAt(at, ahead)}, kClock);
      CHECK(std::abs(found - ahead) < 10);
    }
  }
}

TEST_CASE("a stream is refused if the clock of every packet is another one",
          "[recorder_clock]") {
  const auto seconds = static_cast<std::int64_t>(1000 * kMs);
  CHECK(ClockAheadNs({}, kClock) == 0);
  CHECK(ClockAheadNs(
            {PacketAt(kBegin + kMs, seconds), PacketAt(kBegin + 2 * kMs, 0)},
            kClock) == 0);
  CHECK(std::abs(ClockAheadNs({PacketAt(kBegin + kMs, 2 * seconds),
                               PacketAt(kBegin + 2 * kMs, seconds)},
                              kClock) -
                 seconds) < 10);
}

TEST_CASE("without a raw counter the time must lie in the recording",
          "[recorder_clock]") {
  const auto length = static_cast<std::int64_t>(kEnd - kBegin);
  CHECK(ClockAheadNs({PacketAt(kBegin + kMs, length / 2)}, kWithoutRaw) == 0);
  CHECK(ClockAheadNs({PacketAt(kEnd, static_cast<std::int64_t>(kMs))},
                     kWithoutRaw) == 0);
  CHECK(ClockAheadNs({PacketAt(kEnd, static_cast<std::int64_t>(3 * kMs))},
                     kWithoutRaw) == static_cast<std::int64_t>(3 * kMs));
  CHECK(ClockAheadNs({PacketAt(kBegin, -static_cast<std::int64_t>(3 * kMs))},
                     kWithoutRaw) == -static_cast<std::int64_t>(3 * kMs));
  // The counter began anew.
  ScannedPacket packet = PacketAt(kBegin + kMs, 0);
  packet.head.raw_begin = 5;
  CHECK(ClockAheadNs({packet}, kClock) == 0);
}

TEST_CASE("nothing is refused where the recorder's clock is not known",
          "[recorder_clock]") {
  CHECK(ClockAheadNs({PacketAt(1, 0)}, {}) == 0);
  CHECK(ClockAheadNs({PacketAt(kBegin, 1'000'000'000'000)}, {}) == 0);
}

}  // namespace
}  // namespace countrace::logformat
