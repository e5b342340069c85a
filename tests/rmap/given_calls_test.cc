// Conditional counts of calls: which are in which group, and what the test of
// their difference says.
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "rmap/given_calls.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using test_support::HookDump;
using test_support::MemoryTrace;

constexpr std::uint32_t kHook = 5;

// Each third call has 1000 cache misses or more, and takes longer; without
// `effect` these are of no consequence. The last call has no dump.
MemoryTrace Calls(bool effect) {
  MemoryTrace trace;
  trace.mutable_info().thread_events = {"cache-misses"};
  trace.AddHook(kHook, logformat::HookKind::kSegment, "server", "handle");
  std::uint64_t time_ns = 1000, misses = 0;
  for (std::uint64_t i = 0; i <= 60; ++i) {
    const bool many = i % 3 == 0;
    const auto dump = [&] {
      return i == 60 ? std::nullopt
                     : std::optional(HookDump{
                           .mmcr = 0, .present = 1, .counters = {misses}});
    };
    trace.HookRecord(time_ns, {.pid = 7, .tid = 7, .hook_id = kHook}, dump());
    misses += many ? 1000 + i : 10;
    time_ns += (effect && many ? 5000 : 2000) + i * 37 % 100;
    trace.HookRecord(
        time_ns, {.pid = 7, .tid = 7, .hook_id = kHook, .exit = true}, dump());
    time_ns += 500;
  }
  return trace;
}

std::map<std::string, GivenRow> Given(MemoryTrace& trace,
                                      const std::string& condition,
                                      TableRange range = {}) {
  auto where = where::ParseWhere(condition, /*given=*/true);
  REQUIRE(where.ok());
  auto calls =
      GivenCalls::Bind(*std::move(where), trace.info(), {kHook}, range);
  REQUIRE(calls.ok());
  REQUIRE(Reconstruct(trace, {.observer = &*calls}).ok());
  std::map<std::string, GivenRow> rows;
  for (const GivenRow& row : calls->Take()) rows.emplace(row.number, row);
  return rows;
}

}  // namespace

TEST_CASE("given calls: both groups, their means, and a difference that is",
          "[rmap][given]") {
  MemoryTrace trace = Calls(/*effect=*/true);
  const auto rows = Given(trace, "cache-misses > 100");
  REQUIRE(rows.size() == 2);
  for (const char* number : {"wall_ns", "cache-misses"}) {
    CAPTURE(number);
    const GivenRow& row = rows.at(number);
    CHECK(row.hook_id == kHook);
    CHECK(row.given == 20);
    CHECK(row.rest == 40);
    CHECK(row.unknown == 1);
    // The condition itself is of the misses.
    REQUIRE(row.change.has_value() == (row.number == "wall_ns"));
  }
  CHECK(rows.at("wall_ns").change->verdict == diff::Verdict::kBeyondNoise);
  const diff::Change& wall = *rows.at("wall_ns").change;
  CHECK(wall.after > 5000);
  CHECK(wall.after < 5100);
  CHECK(wall.before > 2000);
  CHECK(wall.before < 2100);
  REQUIRE(wall.interval);
  CHECK(wall.interval->low < wall.value());
  CHECK(wall.value() < wall.interval->high);
  // Misses of the others: 10 each.
  CHECK(rows.at("cache-misses").mean_rest == 10);
}

TEST_CASE("given calls: a condition that makes no difference is within noise",
          "[rmap][given]") {
  MemoryTrace trace = Calls(/*effect=*/false);
  const auto rows = Given(trace, "cache-misses > 100");
  CHECK(rows.at("wall_ns").change->verdict == diff::Verdict::kWithinNoise);
}

TEST_CASE("given calls: a side that is not known may not matter",
          "[rmap][given]") {
  MemoryTrace trace = Calls(/*effect=*/true);
  // The last call has no dump, but a time.
  const auto row =
      Given(trace, "cache-misses > 100 || wall_ns > 1").at("wall_ns");
  CHECK(row.given == 61);
  CHECK(row.unknown == 0);
  CHECK(Given(trace, "cache-misses > 100 && wall_ns < 1").at("wall_ns").rest ==
        61);
}

TEST_CASE("given calls: of a range, those that begin in it", "[rmap][given]") {
  MemoryTrace trace = Calls(/*effect=*/true);
  const auto rows = Given(trace, "cache-misses > 100", {.until_ns = 1001});
  CHECK(rows.at("wall_ns").given == 1);
  CHECK(rows.at("wall_ns").rest == 0);
  CHECK(rows.at("wall_ns").mean_given == 5000);
  CHECK_FALSE(rows.at("wall_ns").mean_rest);
  CHECK_FALSE(rows.at("wall_ns").change);
}

TEST_CASE("given calls: a name that calls do not have is an error",
          "[rmap][given]") {
  MemoryTrace trace = Calls(/*effect=*/true);
  for (const char* condition : {"cycles > 1", "wall_ns == \"long\"",
                                "cache-misses > 1 && comm =~ \"x\""}) {
    CAPTURE(condition);
    auto where = where::ParseWhere(condition, /*given=*/true);
    REQUIRE(where.ok());
    const auto calls = GivenCalls::Bind(*std::move(where), trace.info(),
                                        {kHook}, TableRange());
    REQUIRE_FALSE(calls.ok());
    const std::string message(calls.status().message());
    CHECK(message.find("--given") != std::string::npos);
    CHECK(message.find("cache-misses") != std::string::npos);
  }
  CHECK_FALSE(where::ParseWhere("cache-misses >", /*given=*/true).ok());
}

}  // namespace countrace::rmap
