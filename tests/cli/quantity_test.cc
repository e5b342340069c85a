#include "cli/quantity.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

namespace countrace::cli {
namespace {

TEST_CASE("quantity: sizes are powers of 1024 with an optional unit",
          "[cli][quantity]") {
  CHECK(ParseBytes("0") == 0u);
  CHECK(ParseBytes("4096") == 4096u);
  CHECK(ParseBytes("4096B") == 4096u);
  CHECK(ParseBytes("64K") == 65536u);
  CHECK(ParseBytes("64k") == 65536u);
  CHECK(ParseBytes("64KiB") == 65536u);
  CHECK(ParseBytes("64M") == 64u << 20);
  CHECK(ParseBytes("2GB") == std::uint64_t{2} << 30);
  CHECK(ParseBytes("16777215T") == std::uint64_t{16777215} << 40);
}

TEST_CASE("quantity: what is no size is refused", "[cli][quantity]") {
  const std::string text =
      GENERATE("", "M", "-1", "+1", " 1", "1 ", "1.5M", "0x10", "1X", "1KX",
               "1KiBB", "18446744073709551616", "16777216T", "1e3");
  CAPTURE(text);
  CHECK_FALSE(ParseBytes(text).has_value());
}

TEST_CASE("quantity: durations are numbers with a unit, seconds without",
          "[cli][quantity]") {
  CHECK(ParseDuration("10") == 10'000'000'000u);
  CHECK(ParseDuration("10s") == 10'000'000'000u);
  CHECK(ParseDuration("1.5s") == 1'500'000'000u);
  CHECK(ParseDuration("250ms") == 250'000'000u);
  CHECK(ParseDuration("100us") == 100'000u);
  CHECK(ParseDuration("5ns") == 5u);
  CHECK(ParseDuration("2m") == 120'000'000'000u);
  CHECK(ParseDuration("1h") == 3'600'000'000'000u);
}

TEST_CASE("quantity: what is no duration is refused", "[cli][quantity]") {
  const std::string text =
      GENERATE("", "s", "0", "0s", "-1s", "1 s", "nan", "inf", "1e30s", "1d",
               "1ss", "0.1ns", "9223372036854775808ns");
  CAPTURE(text);
  CHECK_FALSE(ParseDuration(text).has_value());
}

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
