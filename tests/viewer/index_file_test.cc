// Damaged, stale and other index files: an error with the reason, never a
// crash.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/nearest_step.h"
#include "viewer/index/instant/tile.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Every kind of query, at many places; it only has to end.
void AskEverything(const TimelineIndex& index) {
  for (std::uint32_t row = 0; row < RowNumbers(index); row += 3) {
    for (std::uint32_t level = 0; level <= 40; level += 8) {
      (void)BuildTile(index, {.row = row, .level = level, .index = 0}, 0);
    }
  }
  for (std::uint64_t part = 0; part < 8; ++part) {
    const std::uint64_t at_ns = index.duration_ns() / 8 * part;
    (void)StateAt(index, at_ns);
    (void)TotalsIn(index, {at_ns / 2, at_ns});
    (void)NearestStep(index, at_ns, true, ~0u);
    (void)NearestStep(index, at_ns, false, ~0u);
  }
}

}  // namespace

TEST_CASE("timeline_index: an index of another trace or state is refused",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 200});
  Fingerprint other = kTestFingerprint;
  SECTION("other uuid") { other.uuid[7] ^= 1; }
  SECTION("streams grew") { other.stream_bytes += 4096; }
  SECTION("streams renamed") { other.stream_hash ^= 1; }
  const auto index = TimelineIndex::Open(built.path, &other);
  CHECK(absl::IsFailedPrecondition(index.status()));
}

TEST_CASE("timeline_index: a file cut anywhere is refused", "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 200});
  const std::string bytes = ReadAll(built.path);
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const std::size_t size = i < 3 ? i * 8 : random() % bytes.size();
    CAPTURE(size);
    WriteAll(built.path, bytes.substr(0, size));
    const auto index = TimelineIndex::Open(built.path, &kTestFingerprint);
    REQUIRE(absl::IsDataLoss(index.status()));
  }
}

TEST_CASE("timeline_index: a flipped byte is refused or harmless", "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 200});
  const std::string bytes = ReadAll(built.path);
  std::mt19937_64 random(2);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    const std::size_t at =
        i < 100 ? static_cast<std::size_t>(i) * 3 : random() % bytes.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    WriteAll(built.path, damaged);
    const auto index = TimelineIndex::Open(built.path, &kTestFingerprint);
    if (!index.ok()) {
      ++refused;
      continue;
    }
    // Only padding between sections carries no checksum.
    AskEverything(**index);
  }
  CHECK(refused > 280);
}

TEST_CASE("timeline_index: unchecked row data may lie but cannot lead astray",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 400});
  const std::string bytes = ReadAll(built.path);
  const SectionEntry& data =
      built.index->header()
          .sections[static_cast<std::size_t>(Section::kRowData)];
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 200; ++flips) {
      damaged[data.offset + random() % data.bytes] =
          static_cast<char>(random());
    }
    WriteAll(built.path, damaged);
    const auto index =
        TimelineIndex::Open(built.path, &kTestFingerprint, /*checked=*/0);
    REQUIRE(index.ok());
    AskEverything(**index);
  }
}

// Zeros take the place of what was validated.
TEST_CASE("timeline_index: an index that shrinks is no crash", "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 400});
  const std::string bytes = ReadAll(built.path);
  const std::string path = built.directory->path() + "/shrinking";
  constexpr std::size_t kPageBytes = 4096;
  for (std::size_t kept = 0; kept < bytes.size(); kept += kPageBytes) {
    WriteAll(path, bytes);
    const auto index = TimelineIndex::Open(path, &kTestFingerprint);
    REQUIRE(index.ok());
    std::filesystem::resize_file(path, kept);
    AskEverything(**index);
    CAPTURE(kept);
    CHECK((kept != 0 || absl::IsDataLoss((*index)->CheckWhole())));
  }
}

TEST_CASE("index_builder: the same events give the same bytes", "[viewer]") {
  const BuiltIndex a = BuildSyntheticIndex({.seed = 9, .dispatches = 1000});
  const BuiltIndex b = BuildSyntheticIndex({.seed = 9, .dispatches = 1000});
  CHECK(ReadAll(a.path) == ReadAll(b.path));
}

TEST_CASE("index_builder: an empty trace gives an index that answers",
          "[viewer]") {
  TemporaryDirectory directory;
  auto builder = IndexBuilder::Create(2, directory.path());
  REQUIRE(builder.ok());
  const std::string path = directory.path() + "/" + kIndexFile;
  REQUIRE((*builder)
              ->Finish(rmap::Report(), logformat::TraceInfo(), kTestFingerprint,
                       path)
              .ok());
  const auto index = TimelineIndex::Open(path, &kTestFingerprint);
  INFO(index.status().ToString());
  REQUIRE(index.ok());
  CHECK((*index)->duration_ns() == 0);
  AskEverything(**index);
}

TEST_CASE("index_builder: spans that overlap are kept, not lost", "[viewer]") {
  TemporaryDirectory directory;
  auto builder = IndexBuilder::Create(0, directory.path());
  REQUIRE(builder.ok());
  rmap::Report report;
  report.begin_ns = 100;
  report.end_ns = 1000;
  rmap::ThreadRow thread;
  thread.index = rmap::ThreadIndex{0};
  report.threads.push_back(thread);
  const auto segment = [&](std::uint64_t begin_ns, std::uint64_t end_ns) {
    (*builder)->OnSegment({.thread = rmap::ThreadIndex{0},
                           .hook_id = 1,
                           .depth = 0,
                           .begin_ns = begin_ns,
                           .end_ns = end_ns,
                           .on_cpu_ns = std::nullopt,
                           .begin_inferred = false,
                           .end_inferred = false});
  };
  segment(100, 300);
  segment(100, 500);  // ends around the first
  segment(500, 600);
  const std::string path = directory.path() + "/" + kIndexFile;
  REQUIRE((*builder)
              ->Finish(report, logformat::TraceInfo(), kTestFingerprint, path)
              .ok());
  const auto index = TimelineIndex::Open(path, nullptr);
  REQUIRE(index.ok());
  const RangeTotals totals = TotalsIn(**index, {0, 900});
  REQUIRE(totals.segments.size() == 1);
  CHECK(totals.segments[0].calls == 3);
  CHECK(totals.segments[0].wall_incl_ns == 200 + 400 + 100);
}

}  // namespace countrace::viewer
