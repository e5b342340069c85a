#include "cli/instant.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

namespace countrace::cli {
namespace {

constexpr TraceExtent kTrace{.begin_ns = 25'903'058'299'663,
                             .duration_ns = 2'000'000'001};

std::uint64_t At(const std::string& text) {
  const auto instant = ParseInstant(text, kTrace);
  INFO(text << ": " << instant.status());
  REQUIRE(instant.ok());
  return *instant;
}

}  // namespace

TEST_CASE("instant: every way to write one", "[cli][instant]") {
  CHECK(At("begin") == 0);
  CHECK(At("end") == kTrace.duration_ns);
  CHECK(At("0") == 0);
  CHECK(At("0ms") == 0);
  CHECK(At("1.5s") == 1'500'000'000);
  CHECK(At("+12ms") == 12'000'000);
  CHECK(At("1ns") == 1);
  CHECK(At("0%") == 0);
  CHECK(At("50%") == 1'000'000'000);
  CHECK(At("12.5%") == 250'000'000);
  CHECK(At("100%") == kTrace.duration_ns);
  // The spelling of `script`, and ns, on CLOCK_MONOTONIC: exact to the
  // nanosecond.
  CHECK(At("@25903.058299663") == 0);
  CHECK(At("@25905.058299664") == kTrace.duration_ns);
  CHECK(At("@25904") == 941'700'337);
  CHECK(At("@25904.5") == 1'441'700'337);
  CHECK(At("25903058299664") == 1);
  CHECK(At("25905058299664") == kTrace.duration_ns);
}

TEST_CASE("instant: outside the trace is an error with both numbers",
          "[cli][instant]") {
  const std::string text =
      GENERATE("3s", "2000000002ns", "101%", "@25903.058299662",
               "@25905.058299665", "25903058299662", "5");
  CAPTURE(text);
  const auto instant = ParseInstant(text, kTrace);
  REQUIRE_FALSE(instant.ok());
  const std::string message(instant.status().message());
  CAPTURE(message);
  CHECK(message.find(text) != std::string::npos);
  CHECK(absl::IsOutOfRange(instant.status()));
  CHECK((message.find("2.000000001") != std::string::npos ||
         message.find("@25905.058299664") != std::string::npos));
}

TEST_CASE("instant: what is none is refused with what is", "[cli][instant]") {
  const std::string text =
      GENERATE("", "half", "%", "-1s", "50 %", "-5%", "@", "@x", "@1.",
               "@1.1234567890", "1s2", "nan%", "@99999999999", "\x1b[31m");
  CAPTURE(text);
  const auto instant = ParseInstant(text, kTrace);
  REQUIRE_FALSE(instant.ok());
  CHECK(absl::IsInvalidArgument(instant.status()));
  const std::string message(instant.status().message());
  CHECK(message.find("50%") != std::string::npos);
  CHECK(message.find('\x1b') == std::string::npos);
}

}  // namespace countrace::cli
