// Counts of the columns of a flame: calls that begin in each, against the
// segments that the index was built from.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/viewer/index_fixture.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/index/instant/tile.h"

namespace countrace::viewer {

TEST_CASE("tile: a strip counts the calls that begin in each column",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 3, .dispatches = 4000});
  std::uint64_t strips = 0, crossed = 0;
  for (std::uint32_t row = 0; row < built.index->rows().size(); ++row) {
    const RowEntry& entry = built.index->rows()[row];
    if (entry.kind != RowKind::kSegment) continue;
    for (std::uint32_t level = 10; level < 24; ++level) {
      for (std::uint64_t number = 0;
           number * 512 << level < built.index->duration_ns(); ++number) {
        const absl::StatusOr<std::string> bytes =
            BuildTile(*built.index, {row, level, number}, 0);
        REQUIRE(bytes.ok());
        TileHeader header;
        std::memcpy(&header, bytes->data(), sizeof(header));
        if (header.kind != TileKind::kStrip) continue;
        ++strips;
        std::vector<std::uint64_t> begun(512);
        for (const TrueSegment& call : built.trace.segments) {
          if (call.thread != entry.owner || call.depth != entry.depth) continue;
          const std::uint64_t begin_ns = call.begin_ns - built.begin_ns();
          const std::uint64_t column = begin_ns >> level;
          if (column / 512 == number) ++begun[column % 512];
          crossed += (call.end_ns - built.begin_ns()) >> level != column;
        }
        CAPTURE(row, level, number);
        for (std::size_t i = 0; i < begun.size(); ++i) {
          StripColumn column;
          std::memcpy(&column,
                      bytes->data() + sizeof(header) + i * sizeof(column),
                      sizeof(column));
          REQUIRE(column.count == begun[i]);
        }
      }
    }
  }
  // Calls that cross columns are counted once.
  CHECK(strips > 10);
  CHECK(crossed > 10);
}

}  // namespace countrace::viewer
