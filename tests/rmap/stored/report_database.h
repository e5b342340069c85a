// The tables of a trace's report in a database file, as `export --to sqlite`
// writes them.
#ifndef COUNTRACE_TESTS_RMAP_STORED_REPORT_DATABASE_H_
#define COUNTRACE_TESTS_RMAP_STORED_REPORT_DATABASE_H_

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/temporary_directory.h"
#include "rmap/export/export_tables.h"
#include "rmap/export/sqlite_cursor.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/sqlite_writer.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

class ReportDatabase {
 public:
  ReportDatabase() : folder_(base::TemporaryDirectory::Create()) {
    REQUIRE(folder_.ok());
  }
  std::string path() const { return (*folder_)->path() + "/x.db"; }

  absl::Status Write(MemoryTrace& trace,
                     const rmap::TableRange& range = {}) const {
    std::filesystem::remove(path());
    const auto database = rmap::SqliteDatabase::Open(path(), path(), {});
    REQUIRE(database.ok());
    rmap::SqliteWriter writer(**database);
    return ExportTables(trace, {.range = range}, nullptr, writer).status();
  }

  std::vector<std::string> ColumnsOf(const std::string& table) const {
    const auto database = rmap::SqliteDatabase::OpenToRead(path(), {});
    REQUIRE(database.ok());
    auto rows = (*database)->Prepare("SELECT * FROM " + table);
    REQUIRE(rows.ok());
    return rmap::SqliteCursor(**database, *std::move(rows)).Names();
  }

  void Run(const std::string& sql) const {
    const auto database = rmap::SqliteDatabase::Open(path(), path(), {});
    REQUIRE(database.ok());
    const absl::Status done = (*database)->Run(sql);
    CAPTURE(sql, done.message());
    REQUIRE(done.ok());
  }

 private:
  absl::StatusOr<std::unique_ptr<base::TemporaryDirectory>> folder_;
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_STORED_REPORT_DATABASE_H_
