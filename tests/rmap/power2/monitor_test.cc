// The monitor against the paper: figure 2, table 1, and the text on the MSR,
// the IMR and the SPE.
#include "examples/power2/monitor.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "examples/power2/machine.h"
#include "logformat/rules/gating.h"

namespace power2 {
namespace {

TEST_CASE("power2: the MMCR of figure 2, bit by bit", "[power2]") {
  CHECK(Monitor().mmcr() == 0);  // at power-up
  const auto mmcr = Mmcr::Decode(0x8c001234);
  REQUIRE(mmcr);
  CHECK(mmcr->dis);
  CHECK_FALSE(mmcr->dp);
  CHECK_FALSE(mmcr->du);
  CHECK_FALSE(mmcr->dms);
  CHECK(mmcr->dmr);
  CHECK(mmcr->sga);
  CHECK(mmcr->group == std::array<std::uint32_t, kUnits>{1, 2, 3, 4});
  // Every word without a reserved bit decodes, and encodes to itself.
  std::uint32_t x = 1;
  for (int i = 0; i < 10000; ++i) {
    x = x * 1664525 + 1013904223;
    const auto decoded = Mmcr::Decode(x & 0xfc00ffff);
    REQUIRE(decoded);
    CHECK(decoded->Encode() == (x & 0xfc00ffff));
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    CAPTURE(bit);
    const bool reserved = bit >= 6 && bit <= 15;
    CHECK(Mmcr::Decode(IbmBit(bit)).has_value() == !reserved);
    Monitor monitor;
    CHECK(monitor.WriteMmcr(IbmBit(bit), 0) ==
          (reserved ? Access::kReservedBits : Access::kDone));
    CHECK(monitor.mmcr() == (reserved ? 0 : IbmBit(bit)));
    CHECK(monitor.WriteMmcr(0, kMsrPr) == Access::kPrivileged);
  }
}

TEST_CASE("power2: 4 units, 16 groups of 5, 65,536 selections", "[power2]") {
  std::set<std::array<std::uint32_t, 3>> signals;
  for (std::uint32_t word = 0; word < 0x10000; word += 0x1111) {
    const auto mmcr = Mmcr::Decode(word);
    for (std::size_t i = 0; i < kSelectable; ++i) {
      const Signal signal = mmcr->SignalOf(i);
      signals.insert({static_cast<std::uint32_t>(signal.unit), signal.group,
                      signal.element});
    }
  }
  CHECK(signals.size() == 320);
  std::set<std::array<std::uint32_t, kUnits>> selections;
  for (std::uint32_t word = 0; word < 0x10000; ++word) {
    selections.insert(Mmcr::Decode(word)->group);
  }
  CHECK(selections.size() == 65536);
  // SGA: 20 of 22 counters in the text; figure 2 says all 22, two of which are
  // dedicated. Independent of the four selectors.
  Mmcr all;
  all.sga = true;
  all.group = {7, 7, 7, 7};
  for (std::size_t i = 0; i < kSelectable; ++i) {
    CHECK(all.SignalOf(i) ==
          Signal{Unit::kScu, kSgaGroup, static_cast<std::uint32_t>(i)});
  }
}

TEST_CASE("power2: table 1, all 32 settings in all 4 states", "[power2]") {
  std::set<std::string> live;
  for (std::uint32_t bits = 0; bits < 32; ++bits) {
    for (unsigned state = 0; state < 4; ++state) {
      const bool pr = (state & 2) != 0, pm = (state & 1) != 0;
      CAPTURE(bits, pr, pm);
      const std::uint32_t msr = (pr ? kMsrPr : 0) | (pm ? kMsrPm : 0);
      const bool counted = CountedByTable1(bits, pr, pm);
      Monitor monitor;
      REQUIRE(monitor.WriteMmcr(bits << 27, 0) == Access::kDone);
      monitor.WriteCounter(kCycles, 5, 0);
      monitor.Run({.cycles = 100}, msr);
      // "The counter values are not changed, only suspended."
      CHECK(monitor.counter(kCycles) == (counted ? 105u : 5u));
      // The recorder's --count has the same meaning.
      CHECK(countrace::logformat::GatingOfMonitorBits(bits).Counts(pr, pm) ==
            counted);
      if (counted) live.insert(std::to_string(bits));
    }
  }
  CHECK(live.size() == 9);
}

TEST_CASE("power2: the mark outlives a supervisor call, nothing else",
          "[power2]") {
  CHECK(kMsrPr == 0x00004000);
  CHECK(kMsrPm == 0x00000004);
  const std::uint32_t marked = kMsrPr | kMsrPm;
  CHECK(MsrAtSvc(marked) == kMsrPm);
  CHECK(MsrAtInterrupt(marked) == 0);
  CHECK(MsrAtInterrupt(kMsrPm) == 0);  // in the middle of a supervisor call
}

TEST_CASE("power2: counters have 32 bits; 2^32 / 66 MHz is 65.0753 s",
          "[power2]") {
  Monitor monitor;
  monitor.WriteCounter(kCycles, 0xffffffff, 0);
  monitor.Run({.cycles = 1}, 0);
  CHECK(monitor.counter(kCycles) == 0);
  CHECK(65.07526 == Approx(4294967296.0 / 66e6).epsilon(1e-7));
  // N02: a tick of 10 ms is 660,000 cycles, 60 of which are 0.0091 %.
  CHECK(kHertz / 100 == 660'000);
  CHECK(60.0 / 660'000 == Approx(0.000091).epsilon(0.01));
}

TEST_CASE("power2: events of software: instruction match and SPE", "[power2]") {
  Monitor monitor;
  Mmcr mmcr;
  mmcr.group[1] = kImrMatches.group;
  REQUIRE(monitor.WriteMmcr(mmcr.Encode(), 0) == Access::kDone);
  const std::size_t counter = kElements;  // the first of the FXU
  CHECK(monitor.WriteImr(2, kMsrPr) == Access::kPrivileged);
  CHECK(monitor.WriteImr(2, 0) == Access::kDone);
  monitor.Run({.cycles = 100, .instructions = {1, 2, 30, 4}}, kMsrPr);
  CHECK(monitor.counter(counter) == 30);
  mmcr.group[1] = kSpeCycles.group;
  REQUIRE(monitor.WriteMmcr(mmcr.Encode(), 0) == Access::kDone);
  monitor.WriteCounter(counter, 0, 0);
  monitor.Run({.cycles = 100}, 0);
  CHECK(monitor.counter(counter) == 0);
  monitor.SetSpe(true);
  monitor.Run({.cycles = 40}, 0);
  CHECK(monitor.counter(counter) == 40);
}

}  // namespace
}  // namespace power2
