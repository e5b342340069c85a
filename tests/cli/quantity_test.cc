#include "cli/quantity.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

namespace countrace::cli {
namespace {

TEST_CASE("quantity: figures change unit where the rounded one would be long",
          "[cli][quantity]") {
  CHECK(FormatBytes(0) == "0 B");
  CHECK(FormatBytes(1023) == "1023 B");
  CHECK(FormatBytes(1024) == "1.0 KiB");
  CHECK(FormatBytes((1u << 20) - 1) == "1.0 MiB");
  CHECK(FormatBytes(~std::uint64_t{0}) == "16.0 EiB");
  CHECK(FormatDuration(999) == "999 ns");
  CHECK(FormatDuration(1500) == "1.5 us");
  CHECK(FormatDuration(2'430'000'000) == "2.43 s");
  CHECK(FormatClock(7'900'000'000) == "0:07");
  CHECK(FormatClock(3'723'000'000'000) == "1:02:03");
  CHECK(FormatCount(0) == "0");
  CHECK(FormatCount(999) == "999");
  CHECK(FormatCount(1000) == "1,000");
  CHECK(FormatCount(1234567) == "1,234,567");
}

}  // namespace
}  // namespace countrace::cli
