// Parameters of the trace's clock, without a recording.
#include "runtime/inprocess/process/trace_clock.h"

#include <catch2/catch.hpp>

namespace countrace::runtime {
namespace {

// A set of parameters holds for 100 ms at the assumed rate; at the real one
// perhaps for less, and the thread may be interrupted in between: so it tries
// several times.
bool IsReadWithoutSystemCall(std::uint64_t raw_ns_mult) {
  for (int i = 0; i < 1000; ++i) {
    StartClock(raw_ns_mult);
    std::uint64_t now_ns;
    if (TryClockNow(&now_ns)) return true;
  }
  return false;
}

constexpr std::uint64_t kOneNs = std::uint64_t{1} << 32;

TEST_CASE("trace clock: counters are used however slow they tick") {
  CHECK(IsReadWithoutSystemCall(kOneNs / 3));   // 3 GHz
  CHECK(IsReadWithoutSystemCall(kOneNs));       // 1 GHz: arm64 since v8.6
  CHECK(IsReadWithoutSystemCall(2 * kOneNs));   // POWER's timebase, about
  CHECK(IsReadWithoutSystemCall(16 * kOneNs));  // arm64 machines, emulated too
  CHECK(IsReadWithoutSystemCall(1000 * kOneNs));
}

TEST_CASE("trace clock: the product of the hot path fits into 64 bits") {
  for (const std::uint64_t mult :
       {kOneNs / 3, kOneNs, 16 * kOneNs, 1000 * kOneNs, 99'999'999 * kOneNs}) {
    CAPTURE(mult);
    StartClock(mult);
    const ClockParameters& set = *g_clock.load();
    REQUIRE(set.limit > 0);
    CHECK(set.limit <= (~std::uint64_t{0} >> 1) / set.mult);
  }
}

}  // namespace
}  // namespace countrace::runtime
