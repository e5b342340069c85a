// Sizes and durations as users write them: read exactly, and rejected if they
// are anything else.
#include "base/text/quantity_parse.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>

namespace countrace::base {
namespace {

std::optional<std::uint64_t> Seconds(const std::string& text) {
  return ParseDurationNs(text, "s");
}

TEST_CASE("quantity: sizes are powers of 1024 with an optional unit",
          "[base][quantity]") {
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

TEST_CASE("quantity: what is no size is refused", "[base][quantity]") {
  const std::string text =
      GENERATE("", "M", "-1", "+1", " 1", "1 ", "1.5M", "0x10", "1X", "1KX",
               "1KiBB", "18446744073709551616", "16777216T", "1e3");
  CAPTURE(text);
  CHECK_FALSE(ParseBytes(text).has_value());
}

TEST_CASE("quantity: durations are numbers with a unit, seconds without",
          "[base][quantity]") {
  CHECK(Seconds("10") == 10'000'000'000u);
  CHECK(Seconds("10s") == 10'000'000'000u);
  CHECK(Seconds("1.5s") == 1'500'000'000u);
  CHECK(Seconds("250ms") == 250'000'000u);
  CHECK(Seconds("100us") == 100'000u);
  CHECK(Seconds("5ns") == 5u);
  CHECK(Seconds("2m") == 120'000'000'000u);
  CHECK(Seconds("1h") == 3'600'000'000'000u);
  CHECK(Seconds("2min") == 120'000'000'000u);
  CHECK(Seconds(".5s") == 500'000'000u);
  CHECK(Seconds("1.1us") == 1100u);
  CHECK(Seconds("1.6ns") == 2u);
  CHECK(Seconds("9223372036854775807ns") == 9223372036854775807u);
}

TEST_CASE("quantity: what is no duration is refused", "[base][quantity]") {
  const std::string text =
      GENERATE("", "s", "0", "0s", "-1s", "1 s", "nan", "inf", "1e30s", "1d",
               "1ss", "0.1ns", "9223372036854775808ns", "1.2.3s", ".", "+1s",
               "2562048h", "99999999999999999999s");
  CAPTURE(text);
  CHECK_FALSE(Seconds(text).has_value());
}

TEST_CASE("quantity: a duration needs its unit where none is given",
          "[base][quantity]") {
  CHECK_FALSE(ParseDurationNs("10").has_value());
  CHECK_FALSE(ParseDurationNs("10k").has_value());
  CHECK(ParseDurationNs("10ms") == 10'000'000u);
}

TEST_CASE("quantity: a printed duration reads back", "[base][quantity]") {
  CHECK(PrintDurationNs(10'000'000) == "10ms");
  CHECK(PrintDurationNs(120'000'000'000) == "2m");
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t ns = (random() >> (1 + random() % 63)) + 1;
    CAPTURE(ns);
    CHECK(ParseDurationNs(PrintDurationNs(ns)) == ns);
  }
}

}  // namespace
}  // namespace countrace::base
