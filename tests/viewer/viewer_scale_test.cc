// A million dispatches: answers stay bounded for any span. Prints its
// measurements; asserts no time.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/tile.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/server/api/timeline_api.h"

namespace countrace::viewer {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since)
      .count();
}

}  // namespace

TEST_CASE("viewer: a million dispatches cost what a thousand cost to look at",
          "[viewer][slow]") {
  for (const std::uint64_t dispatches :
       {std::uint64_t{10'000}, std::uint64_t{1'000'000}}) {
    const Clock::time_point begin = Clock::now();
    const BuiltIndex built = BuildSyntheticIndex({.seed = 3,
                                                  .cpus = 4,
                                                  .processes = 6,
                                                  .threads_per_process = 8,
                                                  .dispatches = dispatches});
    const double build_ms = Milliseconds(begin);
    const TimelineIndex& index = *built.index;
    std::mt19937_64 random(1);
    std::uint32_t top = 0;
    while ((std::uint64_t{kTileColumns} << top) < index.duration_ns()) ++top;

    const Clock::time_point tiles_begin = Clock::now();
    std::size_t tiles = 0;
    std::size_t largest = 0;
    for (int view = 0; view < 20; ++view) {
      const auto level = static_cast<std::uint32_t>(random() % (top + 1));
      const std::uint64_t count =
          index.duration_ns() / (std::uint64_t{kTileColumns} << level) + 1;
      for (std::uint32_t row = 0; row < RowNumbers(index); ++row) {
        const auto tile = BuildTile(
            index, {.row = row, .level = level, .index = random() % count}, 0);
        if (!tile.ok()) continue;
        largest = std::max(largest, tile->size());
        ++tiles;
      }
    }
    const double tile_ms = Milliseconds(tiles_begin);
    CHECK(largest <=
          sizeof(TileHeader) + std::max(kTileColumns * sizeof(SharesColumn),
                                        kMaxStateItems * sizeof(TileItem)));

    const Clock::time_point totals_begin = Clock::now();
    for (int i = 0; i < 20; ++i) {
      (void)TotalsIn(index,
                     {index.duration_ns() / 40 * i, index.duration_ns() / 2});
    }
    const double totals_ms = Milliseconds(totals_begin) / 20;
    const Clock::time_point state_begin = Clock::now();
    for (int i = 0; i < 100; ++i) {
      (void)StateAt(index, random() % index.duration_ns());
    }
    const double state_ms = Milliseconds(state_begin) / 100;
    std::printf(
        "dispatches=%llu segments=%zu rows=%zu build-ms=%.0f index-bytes=%llu "
        "tile-us=%.1f largest-tile-bytes=%zu aggregate-ms=%.2f "
        "state-ms=%.3f\n",
        static_cast<unsigned long long>(dispatches),
        built.trace.segments.size(), index.rows().size(), build_ms,
        static_cast<unsigned long long>(std::filesystem::file_size(built.path)),
        1000 * tile_ms / static_cast<double>(tiles), largest, totals_ms,
        state_ms);
  }
}

TEST_CASE("viewer: a page of a table of 6,000 rows is at most 32 KB",
          "[viewer][slow]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 4,
                                                .cpus = 4,
                                                .processes = 2000,
                                                .threads_per_process = 3,
                                                .dispatches = 20'000,
                                                .max_depth = 2});
  const std::uint64_t duration_ns = built.index->duration_ns();
  for (const char* table :
       {"processes", "threads", "segments", "hooks", "cpus", "waits"}) {
    std::size_t largest = 0;
    const Clock::time_point begin = Clock::now();
    constexpr int kTimes = 20;
    for (int i = 0; i < kTimes; ++i) {
      HttpRequest request;
      request.method = "GET";
      request.target = absl::StrFormat(
          "/api/v1/aggregate?from=%d&to=%d&tables=%s&limit=100&top=%d",
          duration_ns / 100 * i, duration_ns - duration_ns / 100 * i, table,
          std::string_view(table) == "processes" ? 100 : 0);
      const HttpResponse response = AnswerApi(*built.index, nullptr, request);
      CHECK(response.status == 200);
      largest = std::max(largest, response.body.size());
    }
    std::printf("table=%s rows=%zu aggregate-ms=%.2f largest-bytes=%zu\n",
                table, built.index->rows().size(), Milliseconds(begin) / kTimes,
                largest);
    CHECK(largest <= 32u << 10);
  }
}

}  // namespace countrace::viewer
