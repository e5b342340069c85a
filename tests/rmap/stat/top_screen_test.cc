// The screen of `countrace stat --top`: any size, any keys.
#include "rmap/stat/top_screen.h"

#include <random>
#include <string>
#include <string_view>

#include "catch2/catch.hpp"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

// The places that a line takes, without colour or with it.
std::size_t WidthOf(std::string_view line) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
      continue;
    }
    if ((static_cast<unsigned char>(line[i]) & 0xc0u) != 0x80u) ++width;
  }
  return width;
}

std::string All(const TopScreen& screen) {
  std::string text;
  for (const std::string& line : screen.Lines(100, 40, false)) {
    text += line + "\n";
  }
  return text;
}

Report SimulatedReport(std::uint32_t seed) {
  const auto machine =
      test_support::Simulate(test_support::RandomOptions(seed));
  auto report = Reconstruct(*machine.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

}  // namespace

TEST_CASE("top screen: fits any terminal after any keys",
          "[rmap][stat][property]") {
  std::mt19937 random(23);
  const auto below = [&random](std::size_t n) { return random() % n; };
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(40u); ++seed) {
    TopScreen screen("the machine", 1);
    if (below(8) != 0) screen.Show(SimulatedReport(seed), "10:00:00");
    for (int i = 0; i < 20; ++i) {
      CHECK(screen.Key("ptsb<> \x1b["[below(9)]));
      const std::size_t columns = 1 + below(200), lines = below(60);
      const auto shown = screen.Lines(columns, lines, below(2) != 0);
      REQUIRE(shown.size() == lines);
      for (const std::string& line : shown) {
        INFO(line);
        CHECK(WidthOf(line) <= columns);
        CHECK(line.find('\n') == line.npos);
      }
    }
  }
}

TEST_CASE("top screen: tables, order, pause", "[rmap][stat]") {
  TopScreen screen("the machine", 1);
  screen.Say("wait");
  CHECK(All(screen).find("wait") != std::string::npos);
  screen.Show(SimulatedReport(3), "10:00:00");
  CHECK(All(screen).find("wait\n") == std::string::npos);
  const std::string both = All(screen);
  CHECK(both.find("PROCESSES") != both.npos);
  CHECK(both.find("SEGMENTS") != both.npos);
  screen.Key('t');
  const std::string threads = All(screen);
  CHECK(threads.find("THREADS") != threads.npos);
  CHECK(threads.find("PROCESSES") == threads.npos);
  // There and back.
  int orders = 0;
  for (std::string last = threads; orders < 100; ++orders) {
    screen.Key('>');
    if (All(screen) == threads) break;
    CHECK(All(screen) != last);
    last = All(screen);
  }
  CHECK(orders > 4);
  CHECK(orders < 100);
  screen.Key('<');
  screen.Key('>');
  CHECK(All(screen) == threads);
  screen.Key(' ');
  CHECK(screen.paused());
  CHECK(All(screen).find("PAUSED") != std::string::npos);
  CHECK_FALSE(screen.Key('q'));
}

TEST_CASE("top screen: no segments", "[rmap][stat]") {
  TopScreen screen("the machine", 1);
  Report report = SimulatedReport(3);
  report.segments.clear();
  screen.Show(std::move(report), "10:00:00");
  CHECK(All(screen).find("SEGMENTS") == std::string::npos);
  screen.Key('s');
  CHECK(All(screen).find("nothing here") != std::string::npos);
}

}  // namespace countrace::rmap
