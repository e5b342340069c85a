// Units: an algebra that keeps counts, calls and time apart.
#include <catch2/catch.hpp>
#include <random>

#include "rmap/metrics/metric_unit.h"
#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::ErrorOf;
using test_support::FileErrorOf;

Dimensions Random(std::mt19937& random) {
  std::uniform_int_distribution<int> exponent(-2, 2);
  return {exponent(random), exponent(random), exponent(random)};
}

TEST_CASE("unit: an algebra", "[rmap][metrics][property]") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const Dimensions a = Random(random), b = Random(random), c = Random(random);
    CHECK(*Times(a, b) == *Times(b, a));
    CHECK(*Times(*Times(a, b), c) == *Times(a, *Times(b, c)));
    CHECK(*Over(*Times(a, b), b) == a);
    CHECK(*Over(a, a) == Dimensions{});
    CHECK(*SquareRoot(*Times(a, a)) == a);
    // The name of dimensions parses as a unit with these dimensions.
    const auto named = ParseUnit(DimensionsName(a));
    REQUIRE(named.ok());
    CHECK(named->dimensions == a);
    CHECK(named->scale == 1);
    const auto shown = ParseUnit(DefaultUnit(a).text);
    REQUIRE(shown.ok());
    CHECK(shown->dimensions == a);
    CHECK(shown->scale == Approx(DefaultUnit(a).scale));
  }
}

TEST_CASE("unit: scales of a declared unit", "[rmap][metrics]") {
  CHECK(ParseUnit("ms/call")->scale == Approx(1e6));
  CHECK(ParseUnit("1/s")->scale == Approx(1e-9));
  CHECK(ParseUnit("percent")->scale == Approx(0.01));
  CHECK(ParseUnit("s^2")->scale == Approx(1e18));
  CHECK(ParseUnit("GHz")->dimensions == Dimensions{.time = -1, .count = 1});
  for (const char* wrong : {"", "/", "ns/", "fortnight", "ns^0", "ns^-1",
                            "ns^99999999999", "count//call", " ns"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseUnit(wrong).ok());
  }
  CHECK_FALSE(ParseUnit(std::string(1 << 20, '*')).ok());
}

TEST_CASE("unit: what does not fit is refused with its place",
          "[rmap][metrics]") {
  CHECK(ErrorOf("x = cycles + on_cpu_ns") ==
        "--metric:1:12: cannot add count and ns\n"
        "  cycles + on_cpu_ns\n"
        "         ^");
  CHECK(ErrorOf("x = min(calls, instructions)") ==
        "--metric:1:5: cannot compare call and count\n"
        "  min(calls, instructions)\n"
        "  ^");
  CHECK(ErrorOf("x = on_cpu_ns - 5").find("a number takes a unit") !=
        std::string::npos);
  CHECK(ErrorOf("x = on_cpu_ns - 5ms").empty());
  CHECK(ErrorOf("x = max(0, on_cpu_ns - 5ms)").empty());
  CHECK(ErrorOf("x = sqrt(on_cpu_ns * duration_ns) + wait_ns").empty());
  CHECK(ErrorOf("x = sqrt(cycles)") != "");
  std::string power = "x = cycles";
  for (int i = 0; i < 20; ++i) power += " * cycles";
  CHECK(ErrorOf(power).find("power") != std::string::npos);
}

TEST_CASE("unit: the declared one must be the computed one",
          "[rmap][metrics]") {
  const auto with_unit = [](const std::string& expr, const std::string& unit) {
    return FileErrorOf("[metric.x]\nexpr = \"" + expr + "\"\nunit = \"" + unit +
                       "\"\n");
  };
  CHECK(with_unit("cycles / on_cpu_ns", "1/s").empty());
  CHECK(with_unit("cycles / on_cpu_ns", "count/s").empty());
  CHECK(with_unit("calls / wall_ns", "1/s") !=
        "");  // "call/s" is the right unit
  CHECK(with_unit("on_cpu_ns / calls", "us/call").empty());
  CHECK(with_unit("cycles / instructions", "percent").empty());
  CHECK(with_unit("cycles / calls", "ratio") ==
        "my.toml:3:9: the unit of `x` is said to be ratio, but `cycles / "
        "calls` is count/call");
}

}  // namespace
}  // namespace countrace::rmap::metrics
