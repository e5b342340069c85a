#include "rmap/window.h"

#include <catch2/catch.hpp>
#include <vector>

namespace countrace::rmap {
namespace {

using Step = Window::Step;

// The steps that lead to where an item lies, and that.
std::vector<Step> Steps(Window& window, std::uint64_t time_ns,
                        bool may_precede = false) {
  std::vector<Step> steps;
  do {
    steps.push_back(window.Next(time_ns, may_precede));
  } while (steps.back() == Step::kBegin || steps.back() == Step::kBeginRange);
  return steps;
}

TEST_CASE("a whole trace has no edge") {
  const Window window({}, {}, 0);
  REQUIRE(window.Holds(0));
  REQUIRE(window.Holds(Window::kNever - 1));
  REQUIRE_FALSE(window.of_range());
}

TEST_CASE("a flight recording's tables begin once, at the first item in them") {
  Window window({}, {}, 100);
  REQUIRE(Steps(window, 99) == std::vector{Step::kEarlier});
  REQUIRE(Steps(window, 100) == std::vector{Step::kBegin, Step::kInside});
  REQUIRE(window.Holds(99));  // a clock that went back
}

TEST_CASE("kernel records may be earlier than a thread's record before them") {
  Window window({}, {}, 100);
  REQUIRE(Steps(window, 120, /*may_precede=*/true) ==
          std::vector{Step::kBegin, Step::kInside});
  REQUIRE_FALSE(window.Holds(99));
  REQUIRE(Steps(window, 99) == std::vector{Step::kEarlier});
  REQUIRE(Steps(window, 100) == std::vector{Step::kInside});
  REQUIRE(window.Holds(99));
}

TEST_CASE("a range begins behind the tables, and no item is earlier then") {
  Window window({}, {.from_ns = 200, .until_ns = 300}, 100);
  REQUIRE(window.of_range());
  REQUIRE(window.begin_ns() == 100);
  REQUIRE(Steps(window, 250, /*may_precede=*/true) ==
          std::vector{Step::kBegin, Step::kBeginRange, Step::kInside});
  REQUIRE(window.begin_ns() == 200);
  REQUIRE(window.Holds(299));
  REQUIRE_FALSE(window.Holds(300));
  REQUIRE(Steps(window, 300) == std::vector{Step::kBehind});
}

TEST_CASE("of a range before the first whole instant, no record is inside") {
  Window window({}, {.until_ns = 80}, 100);
  REQUIRE(Steps(window, 90) == std::vector{Step::kEarlier});
  REQUIRE(Steps(window, 120) == std::vector{Step::kBegin, Step::kBehind});
  REQUIRE(window.until_ns() == window.begin_ns());
}

TEST_CASE("the earlier of a range's end and a snapshot ends the tables") {
  logformat::TraceInfo info;
  info.snapshot_ns = 300;
  const Window snapshot(info, {.until_ns = 400}, 0);
  REQUIRE(snapshot.until_ns() == 300);
  REQUIRE_FALSE(snapshot.ends_in_range());
  const Window range(info, {.until_ns = 200}, 0);
  REQUIRE(range.until_ns() == 200);
  REQUIRE(range.ends_in_range());
}

TEST_CASE("a range from before the trace's begin on is the whole trace") {
  logformat::TraceInfo info;
  info.begin_ns = 50;
  REQUIRE_FALSE(Window(info, {.from_ns = 50}, 0).of_range());
  REQUIRE_FALSE(Window(info, {.from_ns = 100}, 100).of_range());
  REQUIRE(Window(info, {.from_ns = 51}, 0).of_range());
}

}  // namespace
}  // namespace countrace::rmap
