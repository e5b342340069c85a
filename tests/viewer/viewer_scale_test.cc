// A million dispatches: answers stay bounded for any span. Prints its
// measurements; asserts no time.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>

#include "tests/viewer/index_fixture.h"
#include "viewer/index/instant_state.h"
#include "viewer/index/range_totals.h"
#include "viewer/index/tile.h"

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

}  // namespace countrace::viewer
