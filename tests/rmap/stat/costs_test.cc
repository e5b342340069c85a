// Costs of counts: the paper's listing byte for byte, tables that are wrong.
#include "rmap/stat/costs.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch.hpp"
#include "rmap/result/scaled_count.h"
#include "rmap/stat/cost_table.h"
#include "rmap/stat/stat_render.h"

namespace countrace::rmap {
namespace {

std::string Listing() {
  std::ifstream file(COUNTRACE_PERFEX_LISTING);
  return {std::istreambuf_iterator<char>(file), {}};
}

CostTable R10000() {
  const auto table = ParseCostTable(ShippedCostTable("r10000"), "r10000");
  REQUIRE(table.ok());
  return *table;
}

std::string ErrorOf(const std::string& text) {
  const auto table = ParseCostTable(text, "t.toml");
  REQUIRE_FALSE(table.ok());
  return std::string(table.status().message());
}

}  // namespace

TEST_CASE("costs: the paper's listing is written byte for byte from its counts",
          "[rmap][stat]") {
  const std::string listing = Listing();
  REQUIRE(std::count(listing.begin(), listing.end(), '\n') == 32);
  const auto counts = ParseCounts(listing, "md");
  REQUIRE(counts.ok());
  CHECK(PerfexText(R10000(), *counts) == listing);
  // In another order, as long as the two counts of an event keep theirs.
  std::vector<CountedEvent> others = *counts;
  std::rotate(others.begin(), others.begin() + 5, others.begin() + 16);
  CHECK(PerfexText(R10000(), others) == listing);

  // Through our own CSV.
  StatResult result;
  result.runs.emplace_back();
  for (const CountedEvent& count : *counts) {
    result.runs.front().push_back(
        {.name = count.name, .value = static_cast<std::uint64_t>(count.value)});
  }
  const auto again = ParseCounts(StatCsv(result), "csv");
  REQUIRE(again.ok());
  CHECK(PerfexText(R10000(), *again) == listing);
}

TEST_CASE("costs: the paper's run, most time first", "[rmap][stat]") {
  const auto counts = ParseCounts(Listing(), "md");
  const std::vector<CostRow> rows = CostsOf(R10000(), *counts);
  REQUIRE(rows.size() > 10);
  CHECK(rows.front().counted.name == "Cycles");
  // 7,945,053,664 cycles at 195 MHz.
  CHECK(rows.front().typical_ns == Approx(40.7439e9).epsilon(1e-5));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].min_ns <= rows[i].typical_ns);
    CHECK(rows[i].typical_ns <= rows[i].max_ns);
    if (i > 0) CHECK(rows[i].typical_ns <= rows[i - 1].typical_ns);
  }
  const auto twice = EventsCountedTwice(*counts);
  REQUIRE(twice.size() == 2);
  CHECK(twice[0].name == "Cycles");
  CHECK(twice[0].apart == 0);
  CHECK(twice[1].name == "Graduated instructions");
  CHECK(twice[1].apart == Approx(0.0143).epsilon(0.01));
  const std::string text = CostsText(R10000(), *counts, 100, false);
  CHECK(text.find("8,975,754,960 and 8,847,468,640, 1.43 % apart") !=
        text.npos);
}

// The paper's run has 40.7 s of quanta of 10 ms, with 16 events on each
// counter. Counts of quanta in which a program differs by 15 % disagree by as
// much as the paper's two counts of one event, and the interval of their
// difference says so.
TEST_CASE("costs: two counts of one event disagree within their interval",
          "[rmap][stat]") {
  constexpr std::size_t kSets = 16, kRounds = 4074 / (2 * kSets);
  constexpr double kPaper = 0.0143;
  constexpr int kRuns = 400;
  std::mt19937 random(7);
  std::normal_distribution<double> rate(2.2e6, 0.15 * 2.2e6);
  int held = 0, wide = 0, apart = 0;
  for (int run = 0; run < kRuns; ++run) {
    SliceSums sums[2];
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < 2 * kSets; ++i) order.push_back(i / 2);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Slice> slices[kSets];
      for (const std::size_t set : order) {
        slices[set].push_back({10'000'000, static_cast<std::uint64_t>(
                                               std::max(0.0, rate(random)))});
      }
      for (std::size_t i = 0; i < 2; ++i) {
        sums[i].Add(slices[i][0], slices[i][1]);
      }
    }
    const std::uint64_t whole = kRounds * 2 * kSets * 10'000'000;
    const auto a = sums[0].Estimate(whole), b = sums[1].Estimate(whole);
    REQUIRE(a->standard_error);
    REQUIRE(b->standard_error);
    const double half =
        1.96 * std::hypot(*a->standard_error, *b->standard_error);
    const double larger = static_cast<double>(std::max(a->value, b->value));
    const double differ =
        std::abs(static_cast<double>(a->value) - static_cast<double>(b->value));
    held += differ <= half;
    wide += half >= kPaper * larger;
    apart += differ >= kPaper * larger;
  }
  CHECK(wide == kRuns);
  CHECK(held > 0.92 * kRuns);
  CHECK(held < 0.98 * kRuns);
  // It is no rare disagreement.
  CHECK(apart > 0.1 * kRuns);
}

TEST_CASE("costs: the interval of a count is in least and most",
          "[rmap][stat]") {
  const auto table = ParseCostTable(
      "[[event]]\nname='a'\ntypical=10\nmin=5\nmax=20\n"
      "[[event]]\nname='free'\ntypical=0\nmin=0\nmax=0\n"
      "[[event]]\nname='no cost'\n",
      "t");
  REQUIRE(table.ok());
  const std::vector<std::vector<StatNumber>> runs = {
      {{.name = "a", .value = 100, .bounds = Bounds{90, Bounds::kNone}},
       {.name = "free", .value = 7, .bounds = Bounds{7, Bounds::kNone}},
       {.name = "no cost", .value = 1},
       {.name = "not in the table", .value = 1}}};
  const std::vector<CostRow> rows = CostsOf(*table, CountedEvents(runs));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].typical_ns == 1000);
  CHECK(rows[0].min_ns == 450);
  CHECK(rows[0].max_ns == std::numeric_limits<double>::infinity());
  CHECK(rows[1].max_ns == 0);
}

TEST_CASE("cost tables: clocks and ns", "[rmap][stat]") {
  const std::string event = "[[event]]\nname='a'\ntypical=2\nmin=1\nmax=4\n";
  CHECK(ParseCostTable(event, "t")->events[0].cost->typical_ns == 2);
  CHECK(ParseCostTable("clock_mhz = 500\n" + event, "t")
            ->events[0]
            .cost->max_ns == 8);
  CHECK(ShippedCostTable("no such machine").empty());
}

TEST_CASE("cost tables: what is wrong is named with its place",
          "[rmap][stat]") {
  CHECK(ErrorOf("") == "t.toml:1:1: there is no [[event]]");
  CHECK_THAT(ErrorOf("[event]\nname='a'"), Catch::Contains("no [[event]]"));
  CHECK_THAT(ErrorOf("x = 1"), Catch::Contains("t.toml:1:1: `x`"));
  CHECK_THAT(ErrorOf("[[event]]\nname=1"), Catch::Contains("must be a text"));
  CHECK_THAT(ErrorOf("[[event]]\ntypical=1\nmin=1\nmax=1"),
             Catch::Contains("has no name"));
  CHECK_THAT(ErrorOf("[[event]]\nname='a'\nprice=1"),
             Catch::Contains("t.toml:3:1: `price`"));
  CHECK_THAT(ErrorOf("[[event]]\nname='a'\ntypical=1"),
             Catch::Contains("or none of them"));
  CHECK_THAT(ErrorOf("[[event]]\nname='a'\ntypical=1\nmin=2\nmax=3"),
             Catch::Contains("does not hold"));
  for (const char* number : {"-1", "nan", "inf", "1e300", "'x'", "true"}) {
    CHECK_THAT(ErrorOf(std::string("[[event]]\nname='a'\ntypical=") + number),
               Catch::Contains("must be a number"));
  }
  for (const char* mhz : {"0", "-5", "'fast'", "nan"}) {
    CHECK_THAT(ErrorOf(std::string("clock_mhz=") + mhz),
               Catch::Contains("clock_mhz must be"));
  }
  CHECK_THAT(ErrorOf("["), Catch::Contains("t.toml:1:"));
  CHECK_THAT(ErrorOf("a" + std::string(100, '.')),
             Catch::Contains("dots in one line, at most 64"));
  CHECK_THAT(ErrorOf(std::string(kMaxCostFileBytes + 1, ' ')),
             Catch::Contains("at most"));
}

TEST_CASE("counts files: what is wrong is named with its line",
          "[rmap][stat]") {
  const auto error = [](const std::string& text) {
    const auto counts = ParseCounts(text, "c");
    REQUIRE_FALSE(counts.ok());
    return std::string(counts.status().message());
  };
  CHECK_THAT(error("Cycles..... 1\nCycles\n"), Catch::Contains("c:2:"));
  CHECK_THAT(error("Cycles..... -1\n"), Catch::Contains("c:1:"));
  CHECK_THAT(error("Cycles..... nan\n"), Catch::Contains("c:1:"));
  CHECK_THAT(error("Cycles..... 1e300\n"), Catch::Contains("c:1:"));
  CHECK_THAT(error("name,unit\n"), Catch::Contains("no column `value`"));
  CHECK_THAT(error("name,value\na,x\n"), Catch::Contains("c:2:"));
  CHECK_THAT(error("name,value\na\n"), Catch::Contains("c:2:"));
  const auto counts =
      ParseCounts("name,value,lo,hi\r\n\"a,\"\"b\"\"\",3,2,\r\n", "c");
  REQUIRE(counts.ok());
  CHECK(counts->at(0).name == "a,\"b\"");
  CHECK(counts->at(0).lo == 2);
  CHECK(std::isinf(counts->at(0).hi));
}

}  // namespace countrace::rmap
