// A connection to SQLite whose errors are Status.
#ifndef COUNTRACE_RMAP_EXPORT_SQLITE_DATABASE_H_
#define COUNTRACE_RMAP_EXPORT_SQLITE_DATABASE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/export/table_schema.h"

struct sqlite3;
struct sqlite3_stmt;

namespace countrace::rmap {

struct StatementEnd {
  void operator()(sqlite3_stmt* statement) const;
};
using Statement = std::unique_ptr<sqlite3_stmt, StatementEnd>;

class SqliteDatabase {
 public:
  // `path`: an existing file, which may be empty. "": a database that is gone
  // with this object, on disk where it does not fit into 64 MiB of memory.
  // `shown_as`: in messages. `stop`: asked now and then; true ends a statement.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path, const std::string& shown_as,
      std::function<bool()> stop);
  // An existing database, which may come from anyone: statements can read its
  // tables, and do nothing else.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenToRead(
      const std::string& path, std::function<bool()> stop);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  absl::Status Run(const std::string& sql);
  // Prepares the first statement in `sql`. `rest`: what follows it; may be
  // null.
  absl::StatusOr<Statement> Prepare(const std::string& sql,
                                    std::string* rest = nullptr);
  // The last failure of `what`: a full disk, an interruption, or SQLite's
  // words.
  absl::Status Error(int code, const std::string& what) const;
  sqlite3* get() const { return database_; }

 private:
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Connect(
      const std::string& path, const std::string& shown_as, int flags,
      std::function<bool()> stop);
  SqliteDatabase(std::string shown_as, std::function<bool()> stop)
      : shown_as_(std::move(shown_as)), stop_(std::move(stop)) {}

  const std::string shown_as_;
  const std::function<bool()> stop_;
  sqlite3* database_ = nullptr;
};

// In double quotes.
std::string QuotedName(std::string_view name);
// "CREATE TABLE ..." and, if the report shows less of it, "CREATE VIEW ...".
std::string CreateTableSql(const TableSchema& schema);
std::string CreateViewSql(const TableSchema& schema);  // empty: no view

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_SQLITE_DATABASE_H_
