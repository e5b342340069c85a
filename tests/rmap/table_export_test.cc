// What tables and profiles do with numbers and names that a format cannot hold,
// and the values of points.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>

#include "rmap/export/export_tables.h"
#include "rmap/export/profile.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/sqlite_writer.h"
#include "rmap/export/text_writer.h"
#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using Catch::Contains;
using logformat::CountersReason;
using logformat::HookKind;
using logformat::PayloadType;
using test_support::MemoryTrace;

constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

// 40 has `first` page faults, then 50 `second`.
void Fill(MemoryTrace& trace, std::uint64_t first, std::uint64_t second,
          const std::string& comm = "first") {
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"page-faults"};
  trace.Dump(100, 0, CountersReason::kBegin, 40, {0});
  trace.State(100, 0, {40, 40}, comm);
  trace.State(100, 0, {50, 50}, "second");
  trace.Dispatch(200, 0, 40, 50, logformat::kSwitchRunnable, {first});
  trace.Dump(300, 0, CountersReason::kEnd, 50, {first + second});
}

struct Answer {
  absl::Status status;
  std::string text;
  bool has_other_bytes = false;
};

Answer Text(MemoryTrace& trace, TextFormat format, const std::string& table) {
  Answer answer;
  TextWriter writer(format, table, [&](std::string_view part) {
    answer.text += part;
    return absl::OkStatus();
  });
  answer.status = ExportTables(trace, {}, nullptr, writer).status();
  answer.has_other_bytes = writer.has_other_bytes();
  return answer;
}

absl::Status Sqlite(MemoryTrace& trace) {
  const auto database = SqliteDatabase::Open("", "x.db", {});
  REQUIRE(database.ok());
  SqliteWriter writer(**database);
  return ExportTables(trace, {}, nullptr, writer).status();
}

absl::StatusOr<Profile> FaultProfile(MemoryTrace& trace) {
  const auto report = Reconstruct(trace, {.rows = {.samples = true}});
  REQUIRE(report.ok());
  return ProfileOf(*report, trace.info(), "page-faults", {});
}

std::string Words(const absl::Status& status) {
  return std::string(status.message());
}

TEST_CASE("export: a number of 2^63 is an error, one less is not") {
  MemoryTrace trace;
  const std::uint64_t more = GENERATE(0, 1, 5);
  Fill(trace, kLimit - 1 + more, 0);
  const Answer csv = Text(trace, TextFormat::kCsv, "processes");
  const Answer lines = Text(trace, TextFormat::kJsonLines, "counts");
  if (more == 0) {
    CHECK(csv.status.ok());
    CHECK_THAT(csv.text, Contains(",9223372036854775807,"));
    CHECK(lines.status.ok());
    CHECK_THAT(lines.text, Contains("\"count\":9223372036854775807,"));
    CHECK(Sqlite(trace).ok());
    REQUIRE(FaultProfile(trace).ok());
    CHECK(FoldedText(*FaultProfile(trace)) == "first 9223372036854775807\n");
    return;
  }
  const std::string number = std::to_string(kLimit - 1 + more);
  CHECK_THAT(Words(csv.status), Contains("processes.counts.page-faults is " +
                                         number + ", which no signed integer"));
  CHECK_THAT(Words(lines.status), Contains("counts.count is " + number));
  CHECK_THAT(Words(Sqlite(trace)), Contains(number));
  CHECK_THAT(Words(FaultProfile(trace).status()), Contains("2^63"));
}

// Readers add them up in 64 bits.
TEST_CASE("export: amounts of a profile that add up to 2^63 are an error") {
  MemoryTrace trace;
  const std::uint64_t less = GENERATE(0, 1);
  Fill(trace, kLimit / 2, kLimit / 2 - less);
  CHECK(FaultProfile(trace).ok() == (less == 1));
}

TEST_CASE("export: names that are not UTF-8 are escaped and noted") {
  MemoryTrace trace;
  const bool utf8 = GENERATE(false, true);
  Fill(trace, 1, 2, utf8 ? "caf\u00e9" : "caf\xff");
  const Answer csv = Text(trace, TextFormat::kCsv, "processes");
  const Answer lines = Text(trace, TextFormat::kJsonLines, "processes");
  CHECK(csv.has_other_bytes == !utf8);
  CHECK(lines.has_other_bytes == !utf8);
  CHECK_THAT(csv.text, Contains(utf8 ? "caf\u00e9" : "caf\\xff"));
  CHECK_THAT(lines.text, Contains(utf8 ? "\"caf\\u00e9\"" : "\"caf\\ufffd\""));
  const auto profile = FaultProfile(trace);
  REQUIRE(profile.ok());
  CHECK(profile->has_other_bytes == !utf8);
  const std::string bytes = PprofBytes(*profile);
  CHECK_THAT(bytes, Contains(utf8 ? "caf\u00e9" : "caf\uFFFD"));
  CHECK(bytes.find('\xff') == bytes.npos);
}

TEST_CASE("export: a process whose names were lost has one name everywhere") {
  MemoryTrace trace;
  Fill(trace, 1, 2, "");
  const auto profile = FaultProfile(trace);
  REQUIRE(profile.ok());
  CHECK(FoldedText(*profile) == "? 1\nsecond 2\n");
  for (const ProfileStack& stack : profile->stacks) {
    CHECK_FALSE(FrameNames(*profile, stack).front().empty());
  }
  CHECK_THAT(PprofBytes(*profile), Contains("?"));
}

TEST_CASE("export: a point has its values, each of its type") {
  MemoryTrace trace;
  trace.AddHook(1, HookKind::kPoint, "shop", "order",
                logformat::HookOrigin::kProgram,
                {PayloadType::kInt, PayloadType::kUnsigned,
                 PayloadType::kDouble, PayloadType::kPointer});
  trace.AddHook(2, HookKind::kPoint, "shop", "plain");
  double half = 0.5;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &half, sizeof(bits));
  const auto minus = static_cast<std::uint64_t>(-7);
  trace.HookRecord(100, {.pid = 40,
                         .tid = 40,
                         .hook_id = 1,
                         .payload = {minus, kLimit, bits, 0x7f00}});
  trace.HookRecord(200, {.pid = 40, .tid = 40, .hook_id = 2});
  const Answer lines = Text(trace, TextFormat::kJsonLines, "points");
  REQUIRE(lines.status.ok());
  CHECK_THAT(lines.text,
             Contains(R"("payload":"{\"arg0\":-7,\"arg1\":9223372036854775808,)"
                      R"(\"arg2\":0.5,\"arg3\":\"0x7F00\"}")"));
  CHECK_THAT(lines.text, Contains(R"("hook":"shop:plain","payload":null})"));
}

TEST_CASE("export: rows that a table cannot have are refused by name") {
  MemoryTrace trace;
  Fill(trace, 1, 2);
  const auto words = [&](const ExportRows& rows, const char* table) {
    return Words(CheckRows(rows, table, trace.info()));
  };
  ExportRows threads{.owners = {"", "x"}};
  CHECK(words(threads, "segments") ==
        "--thread x: rows of segments have no such owner");
  CHECK(words(threads, "meta") == "--thread x: rows of meta have no owner");
  CHECK(words(threads, "books") == "--thread x: rows of books have no owner");
  CHECK(words(threads, "calls").empty());
  CHECK(words(threads, "threads").empty());
  ExportRows where{.where = *where::ParseWhere("pid > 1")};
  CHECK_THAT(words(where, "calls"), Contains("--where is for tables of"));
  CHECK(words(where, "processes").empty());
  CHECK_THAT(words(where, "cpus"), Contains("pid"));
}

}  // namespace
}  // namespace countrace::rmap
