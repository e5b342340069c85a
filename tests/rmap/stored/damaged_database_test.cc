// A database may hold anything: what is no report is an error that says what,
// where and the remedy, and whatever is changed in one is an error or a report,
// never a crash.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "rmap/report/report_views.h"
#include "rmap/stored/stored_report.h"
#include "tests/rmap/case_trace.h"
#include "tests/rmap/machine_families.h"
#include "tests/rmap/stored/report_database.h"

namespace countrace::rmap {
namespace {

using Catch::Contains;
using test_support::MemoryTrace;
using test_support::ReportDatabase;

// A database with rows in most tables.
void Fill(const ReportDatabase& database) {
  test_support::Machine machine;
  for (const auto& family : test_support::MachineFamilies()) {
    if (std::string(family.name) == "busy") machine = family.make(4);
  }
  REQUIRE(database.Write(*machine.run.trace).ok());
}

std::string ErrorOf(const ReportDatabase& database) {
  const auto stored = ReadStoredReport(database.path(), {});
  CHECK_FALSE(stored.ok());
  const std::string words(stored.status().message());
  CHECK_THAT(words, Contains("x.db"));
  CHECK_THAT(words, Contains("countrace export --to sqlite"));
  return words;
}

TEST_CASE("stored: what is no report says what is missing", "[rmap][stored]") {
  struct Wrong {
    const char* sql;
    const char* says;
  };
  const auto [sql, says] = GENERATE(
      Wrong{"UPDATE meta SET value = 'countrace.tables/2' WHERE key = 'schema'",
            "version `countrace.tables/2`, and this countrace reads "
            "`countrace.tables/1`"},
      Wrong{"DELETE FROM meta WHERE key = 'schema'", "version ``"},
      Wrong{"DELETE FROM meta WHERE key = 'has_wakeups'",
            "`meta` has no `has_wakeups`, maybe of an older countrace"},
      Wrong{"DROP TABLE meta", "no table `meta`"},
      Wrong{"DROP TABLE events", "no table `events`"},
      Wrong{"DROP TABLE cpus", "no table `cpus`"},
      Wrong{"DROP TABLE books; CREATE VIEW books AS SELECT * FROM meta",
            "no table `books`"},
      Wrong{"DROP TABLE cpus; CREATE TABLE cpus(cpu)",
            "`cpus` has no column `wall_ns`"});
  const ReportDatabase database;
  Fill(database);
  database.Run(sql);
  CHECK_THAT(ErrorOf(database), Contains(says));
}

TEST_CASE("stored: a value that is none of its column is named",
          "[rmap][stored]") {
  struct Wrong {
    const char* sql;
    const char* says;
  };
  const auto [sql, says] = GENERATE(
      Wrong{"UPDATE processes SET pid = 'abc' WHERE rowid = 2",
            "table processes, row 2: pid cannot be `abc`"},
      Wrong{"UPDATE processes SET pid = 5000000000", "pid cannot be"},
      Wrong{"UPDATE processes SET threads = -1", "threads cannot be `-1`"},
      Wrong{"UPDATE processes SET marked = 2", "marked cannot be `2`"},
      Wrong{"UPDATE processes SET quality = 'good'", "quality cannot be"},
      Wrong{"UPDATE processes SET qualities = 'bounded,'", "qualities cannot"},
      Wrong{"UPDATE processes SET comm = NULL", "comm cannot be ``"},
      Wrong{"UPDATE processes SET before_exec = 'make'", "before_exec cannot"},
      Wrong{"UPDATE processes SET \"on_cpu_ns.lo\" = 9, \"on_cpu_ns.hi\" = 8",
            "on_cpu_ns cannot be"},
      Wrong{"UPDATE processes SET \"on_cpu_ns.lo\" = NULL",
            "on_cpu_ns cannot be"},
      Wrong{"UPDATE threads SET process = 4294967290",
            "table threads names process 4294967290"},
      Wrong{"UPDATE threads SET process = 4294967296", "process cannot be"},
      Wrong{"UPDATE threads SET tid = x'0000'", "tid cannot be"},
      Wrong{"UPDATE segments SET \"wall_ns.exact_mean\" = 9e999",
            "wall_ns.exact_mean cannot be"},
      Wrong{"UPDATE segments SET \"wall_ns.exact_mean\" = -1",
            "wall_ns.exact_mean cannot be"},
      Wrong{"UPDATE wakers SET \"waker.kind\" = 'me'", "waker.kind cannot"},
      Wrong{"UPDATE books SET event = 'other'", "books of `other`"},
      Wrong{"UPDATE meta SET value = 'x' WHERE key = 'begin_ns'",
            "table meta, row"});
  const ReportDatabase database;
  Fill(database);
  database.Run(sql);
  CHECK_THAT(ErrorOf(database), Contains(says));
}

TEST_CASE("stored: a foreign database has no report", "[rmap][stored]") {
  const ReportDatabase database;
  database.Run("CREATE TABLE songs (title TEXT)");
  CHECK(IsDatabase(database.path()));
  CHECK_THAT(ErrorOf(database), Contains("no table `meta`"));
  std::ofstream(database.path()) << "SQLite format";
  CHECK_FALSE(IsDatabase(database.path()));
  CHECK_FALSE(IsDatabase("/"));
  CHECK_FALSE(ReadStoredReport(database.path(), {}).ok());
}

// Anything may be there: it is shown, or refused.
void Show(const ReportDatabase& database) {
  const auto stored = ReadStoredReport(database.path(), {});
  if (!stored.ok()) return;
  CHECK_FALSE(RenderText(stored->report, {.bounds = true}).empty());
  CHECK_FALSE(RenderJson(stored->report, {}).empty());
}

TEST_CASE("stored: no changed byte is a crash", "[rmap][stored]") {
  const ReportDatabase database;
  MemoryTrace trace;
  test_support::Build(
      test_support::ReadCase(test_support::Cases().front()).events, trace);
  REQUIRE(database.Write(trace).ok());
  std::ifstream in(database.path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = whole;
    for (int i = 0; i <= round % 7; ++i) {
      // Most of the file is room that no row uses: half of the changes are in
      // its first page, with the schema.
      const std::size_t most = round % 2 == 0 ? bytes.size() : 4096;
      bytes[random() % most] = static_cast<char>(random());
    }
    if (round % 10 == 0) bytes.resize(random() % bytes.size());
    std::ofstream(database.path(), std::ios::binary | std::ios::trunc) << bytes;
    refused += ReadStoredReport(database.path(), {}).ok() ? 0 : 1;
    Show(database);
  }
  CHECK(refused > 10);
}

TEST_CASE("stored: no changed value is a crash", "[rmap][stored]") {
  const ReportDatabase database;
  Fill(database);
  const auto whole = database.path() + ".whole";
  std::filesystem::copy_file(database.path(), whole);
  std::mt19937 random(2);
  for (const char* table :
       {"meta", "processes", "threads", "segments", "segment_paths", "wakers",
        "cpus", "books", "events"}) {
    std::vector<std::string> columns = database.ColumnsOf(table);
    for (int round = 0; round < 25; ++round) {
      std::filesystem::copy_file(
          whole, database.path(),
          std::filesystem::copy_options::overwrite_existing);
      const char* const values[] = {"NULL", "0",   "9223372036854775807",
                                    "''",   "1.5", "4294967295"};
      database.Run("UPDATE " + std::string(table) + " SET \"" +
                   columns[random() % columns.size()] +
                   "\" = " + values[random() % std::size(values)]);
      Show(database);
    }
  }
}

}  // namespace
}  // namespace countrace::rmap
