#include "rmap/export/sqlite_database.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"

namespace countrace::rmap {
namespace {

// Instructions of SQLite between two looks at `stop`.
constexpr int kStopInstructions = 20'000;

// A text in a database that is read has at most so many.
constexpr int kMostBytes = 64 << 20;

const char* SqlType(ValueType type) {
  switch (type) {
    case ValueType::kInteger:
      return "INTEGER";
    case ValueType::kReal:
      return "REAL";
    case ValueType::kText:
      return "TEXT";
  }
  return "";
}

}  // namespace

void StatementEnd::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Connect(
    const std::string& path, const std::string& shown_as, int flags,
    std::function<bool()> stop) {
  std::unique_ptr<SqliteDatabase> made(
      new SqliteDatabase(shown_as, std::move(stop)));
  const int code =
      sqlite3_open_v2(path.c_str(), &made->database_, flags, nullptr);
  if (code != SQLITE_OK) return made->Error(code, "open");
  sqlite3_extended_result_codes(made->database_, 1);
  sqlite3_progress_handler(
      made->database_, kStopInstructions,
      [](void* self) {
        const auto& asked = static_cast<SqliteDatabase*>(self)->stop_;
        return asked && asked() ? 1 : 0;
      },
      made.get());
  return made;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path, const std::string& shown_as,
    std::function<bool()> stop) {
  auto made =
      Connect(path, shown_as, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
              std::move(stop));
  if (!made.ok()) return made;
  // The file is new, and kept only if all of it was written.
  const absl::Status ready = (*made)->Run(
      "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF;"
      "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA cache_size = -65536;");
  if (!ready.ok()) return ready;
  return made;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::OpenToRead(
    const std::string& path, std::function<bool()> stop) {
  auto made = Connect(path, path, SQLITE_OPEN_READONLY, std::move(stop));
  if (!made.ok()) return made;
  sqlite3* const connection = (*made)->get();
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_set_authorizer(
      connection,
      [](void*, int action, const char*, const char*, const char*,
         const char*) {
        const bool reads = action == SQLITE_SELECT || action == SQLITE_READ;
        return reads ? SQLITE_OK : SQLITE_DENY;
      },
      nullptr);
  return made;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(database_); }

absl::Status SqliteDatabase::Run(const std::string& sql) {
  for (std::string rest = sql; !rest.empty();) {
    const auto statement = Prepare(std::string(rest), &rest);
    if (!statement.ok()) return statement.status();
    if (*statement == nullptr) break;
    int code = SQLITE_ROW;
    errno = 0;
    while (code == SQLITE_ROW) code = sqlite3_step(statement->get());
    // Before the statement ends, which forgets why it failed.
    if (code != SQLITE_DONE) return Error(code, "write");
  }
  return absl::OkStatus();
}

absl::StatusOr<Statement> SqliteDatabase::Prepare(const std::string& sql,
                                                  std::string* rest) {
  sqlite3_stmt* made = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v2(
      database_, sql.c_str(), static_cast<int>(sql.size()) + 1, &made, &tail);
  Statement statement(made);
  if (code != SQLITE_OK) return Error(code, "read");
  if (rest != nullptr) *rest = tail;
  return statement;
}

absl::Status SqliteDatabase::Error(int code, const std::string& what) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_INTERRUPT) {
    return absl::CancelledError("Interrupted");
  }
  const std::string where = absl::StrFormat("Cannot %s %s", what, shown_as_);
  // SQLite has none of a commit that failed.
  int error = database_ == nullptr ? 0 : sqlite3_system_errno(database_);
  if (error == 0) error = errno;
  const bool of_file = primary == SQLITE_FULL || primary == SQLITE_IOERR ||
                       primary == SQLITE_CANTOPEN;
  if (of_file && error != 0) return base::OutputStatus(error, where);
  const char* const words =
      database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_);
  if (of_file || primary == SQLITE_NOMEM) {
    return absl::ResourceExhaustedError(where + ": " + words);
  }
  return absl::InvalidArgumentError(words);
}

std::string QuotedName(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string CreateTableSql(const TableSchema& schema) {
  std::string sql = "CREATE TABLE " + QuotedName(schema.name) + " (";
  for (const TableColumn& column : schema.columns) {
    if (sql.back() != '(') sql += ", ";
    sql += QuotedName(column.name) + " " + SqlType(column.type);
  }
  return sql + ")";
}

std::string CreateViewSql(const TableSchema& schema) {
  std::string columns;
  bool differs = false;
  for (const TableColumn& column : schema.columns) {
    if (column.of_report) {
      columns += (columns.empty() ? "" : ", ") + QuotedName(column.name);
    }
    differs = differs || !column.of_report;
  }
  if (!differs) return "";
  return absl::StrFormat("CREATE VIEW %s AS SELECT %s FROM %s ORDER BY rowid",
                         QuotedName("report_" + schema.name), columns,
                         QuotedName(schema.name));
}

}  // namespace countrace::rmap
