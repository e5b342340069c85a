#include "base/text/quantity_format.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace countrace::base {
namespace {

TEST_CASE("quantity_format: counts have groups of three digits",
          "[base][quantity]") {
  CHECK(FormatCount(0) == "0");
  CHECK(FormatCount(999) == "999");
  CHECK(FormatCount(1000) == "1,000");
  CHECK(FormatCount(1234567) == "1,234,567");
  CHECK(FormatCount(18446744073709551615u) == "18,446,744,073,709,551,615");
}

TEST_CASE("quantity_format: durations have three digits and a unit",
          "[base][quantity]") {
  CHECK(FormatNanoseconds(0) == "0");
  CHECK(FormatNanoseconds(999) == "999 ns");
  CHECK(FormatNanoseconds(1000) == "1.00 us");
  CHECK(FormatNanoseconds(12345) == "12.3 us");
  CHECK(FormatNanoseconds(999499) == "999 us");
  CHECK(FormatNanoseconds(999500) == "1.00 ms");
  CHECK(FormatNanoseconds(2.43e9) == "2.43 s");
  CHECK(FormatNanoseconds(61.5e9) == "61.5 s");
}

TEST_CASE("quantity_format: instants and clocks", "[base][quantity]") {
  CHECK(FormatInstant(3000) == "0.000003 s");
  CHECK(FormatInstant(12'345'678'999) == "12.345678 s");
  CHECK(FormatSeconds(12'000'000'009) == "12.000000009");
  CHECK(FormatClock(7'900'000'000) == "0:07");
  CHECK(FormatClock(3'723'000'000'000) == "1:02:03");
}

TEST_CASE("quantity_format: sizes change unit where the rounded one is long",
          "[base][quantity]") {
  CHECK(FormatShortCount(0) == "0");
  CHECK(FormatShortCount(99'999.9) == "99,999");
  CHECK(FormatShortCount(100'000) == "100 k");
  CHECK(FormatShortCount(999'499) == "999 k");
  CHECK(FormatShortCount(999'500) == "1.00 M");
  CHECK(FormatShortCount(9'995'000) == "10.0 M");
  CHECK(FormatShortCount(2e9) == "2.00 G");
  CHECK(FormatShortCount(1e24) == "1000000 E");
  CHECK(FormatBytes(0) == "0 B");
  CHECK(FormatBytes(1023) == "1023 B");
  CHECK(FormatBytes(1024) == "1.0 KiB");
  CHECK(FormatBytes((1u << 20) - 1) == "1.0 MiB");
  CHECK(FormatBytes(~std::uint64_t{0}) == "16.0 EiB");
}

TEST_CASE("quantity_format: a share of nothing is a dash", "[base][quantity]") {
  CHECK(FormatShare(1, 3) == "33.3 %");
  CHECK(FormatShare(0, 0) == "-");
}

}  // namespace
}  // namespace countrace::base
