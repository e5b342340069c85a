// Numbers of --where: units, and comparisons without rounding.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "rmap/where/number_cell.h"

namespace countrace::rmap::where {
namespace {

using base::ExactNumber;
using base::ParseExactNumber;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

ExactNumber Parsed(const std::string& digits, const std::string& suffix = "") {
  const auto number = ParseExactNumber(digits, suffix);
  INFO(digits << suffix);
  REQUIRE(number.ok());
  return *number;
}

bool Equals(std::uint64_t cell, const std::string& digits,
            const std::string& suffix = "") {
  return Compare(NumberCell{cell}, Parsed(digits, suffix)) == 0;
}

TEST_CASE("number: units", "[rmap][where]") {
  CHECK(Equals(20'000'000, "20", "ms"));
  CHECK(Equals(1100, "1.1", "us"));  // binary fractions are a little larger
  CHECK(Equals(4000, "4", "k"));
  CHECK(Equals(4096, "4", "Ki"));
  CHECK(Equals(1'500'000, "1.5", "M"));
  CHECK(Equals(2'000'000, "2e6"));
  CHECK(Equals(250, "2.5e+2"));
  CHECK(Equals(5, "500e-2"));
  CHECK(Equals(0, "0.000"));
  CHECK(Equals(60'000'000'000, "1", "min"));
  CHECK(Equals(7, "7.000000000000000000000"));  // digits without effect
  CHECK(Parsed("1", "s").is_time);
  CHECK_FALSE(Parsed("1", "G").is_time);
}

TEST_CASE("number: what cannot be read", "[rmap][where]") {
  const auto message = [](const std::string& digits,
                          const std::string& suffix) {
    const auto number = ParseExactNumber(digits, suffix);
    REQUIRE_FALSE(number.ok());
    return std::string(number.status().message());
  };
  CHECK_THAT(message("1", "parsec"),
             Catch::Contains("`parsec` is no unit") && Catch::Contains("ms"));
  CHECK_THAT(message("12345678901234567890", ""),
             Catch::Contains("at most 19"));
  CHECK_THAT(message("1e30", ""), Catch::Contains("too many digits"));
  CHECK_THAT(message("1e999999999999", ""), Catch::Contains("too many digits"));
  CHECK_THAT(message("0.1234567890123456789", ""),
             Catch::Contains("too many digits"));
}

TEST_CASE("number: neighbours differ", "[rmap][where]") {
  const std::uint64_t big = std::uint64_t{1} << 59;  // no double holds big + 1
  CHECK((Compare(NumberCell{big + 1}, Parsed(std::to_string(big))) > 0));
  CHECK((Compare(NumberCell{big - 1}, Parsed(std::to_string(big))) < 0));
  CHECK((Compare(NumberCell{kMax}, NumberCell{kMax - 1}) > 0));
  CHECK((Compare(NumberCell{std::int64_t{-1}}, NumberCell{kMax}) < 0));
  CHECK((Compare(NumberCell{std::uint64_t{3}}, Parsed("3.00000000000000001")) <
         0));
  CHECK((Compare(NumberCell{kMax}, Parsed("999999999999999999", "h")) < 0));
  CHECK((Compare(NumberCell{2.5}, Parsed("2.5")) == 0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto unordered = Compare(NumberCell{nan}, Parsed("1"));
  CHECK_FALSE((unordered < 0 || unordered == 0 || unordered > 0));
}

TEST_CASE("number: reads what was printed", "[rmap][where]") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t ns = random() % 1'000'000'000'000'000'000;
    const std::string digits = std::to_string(ns);
    CAPTURE(digits);
    CHECK(Equals(ns, digits));
    if (digits.size() < 10) continue;
    const std::size_t dot = digits.size() - 9;
    CHECK(Equals(ns, digits.substr(0, dot) + "." + digits.substr(dot), "s"));
  }
}

}  // namespace
}  // namespace countrace::rmap::where
