#include "rmap/export/table_query.h"

#include <sqlite3.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "rmap/export/sqlite_cursor.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/sqlite_writer.h"

namespace countrace::rmap {
namespace {

constexpr char kQueryName[] = "the database of the query";

// What a statement may do; `tables` collects what it reads.
struct Permission {
  std::set<std::string> tables;
};

int Judge(void* permission, int action, const char* first, const char* second,
          const char* /*database*/, const char* /*inside*/) {
  const auto is = [](const char* text, std::string_view word) {
    return text != nullptr && text == word;
  };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ:
      if (first != nullptr) {
        static_cast<Permission*>(permission)->tables.insert(first);
      }
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is(second, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:  // what tables and columns there are
      return is(first, "table_info") || is(first, "table_list") ? SQLITE_OK
                                                                : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// From here on only reads.
void Guard(SqliteDatabase& database, Permission& permission) {
  sqlite3* const connection = database.get();
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // "name" is a column or an error, never a text.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_set_authorizer(connection, Judge, &permission);
}

// Errors: INVALID_ARGUMENT there is no statement, or more than one.
absl::StatusOr<Statement> PrepareOne(SqliteDatabase& database,
                                     const std::string& sql) {
  std::string rest;
  auto statement = database.Prepare(sql, &rest);
  if (!statement.ok()) return statement;
  if (*statement == nullptr) {
    return absl::InvalidArgumentError("there is no statement in it");
  }
  if (rest.find_first_not_of(" \t\r\n;") != std::string::npos) {
    return absl::InvalidArgumentError(
        "it has more than one statement; a query is one SELECT");
  }
  return statement;
}

// Adds to SQLite's words which tables there are, if it reads another one.
absl::Status WithTables(const absl::Status& status, const std::string& names) {
  if (!absl::StartsWith(status.message(), "no such table")) return status;
  return absl::InvalidArgumentError(
      absl::StrFormat("%s; the trace has %s", status.message(), names));
}

// The tables that the statement reads.
absl::StatusOr<std::set<std::string>> TablesReadBy(
    const std::string& sql, const std::vector<TableSchema>& tables) {
  auto database = SqliteDatabase::Open(":memory:", kQueryName, {});
  if (!database.ok()) return database.status();
  std::string names;
  for (const TableSchema& table : tables) {
    absl::Status made = (*database)->Run(CreateTableSql(table));
    if (made.ok()) made = (*database)->Run(CreateViewSql(table));
    if (!made.ok()) return made;
    names += (names.empty() ? "" : ", ") + table.name;
  }
  Permission permission;
  Guard(**database, permission);
  const auto statement = PrepareOne(**database, sql);
  if (!statement.ok()) return WithTables(statement.status(), names);
  return std::move(permission.tables);
}

absl::Status Step(SqliteCursor rows, const QuerySink& sink) {
  const std::vector<std::string> names = rows.Names();
  sink.on_columns(names);
  std::vector<Value> values(names.size());
  while (true) {
    const auto more = rows.Next();
    if (!more.ok() || !*more) return more.status();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rows.At(i);
    if (!sink.on_row(values)) return absl::OkStatus();
  }
}

}  // namespace

absl::Status QueryTables(const QuerySource& source, const std::string& sql,
                         const std::function<bool()>& stop,
                         const QuerySink& sink) {
  const auto wanted = TablesReadBy(sql, source.tables);
  if (!wanted.ok()) return wanted.status();
  auto database = SqliteDatabase::Open("", kQueryName, stop);
  if (!database.ok()) return database.status();
  // A limit of the size of a file is none of how many: then what is sorted
  // stays in memory, of which there is one limit.
  rlimit file{};
  if (::getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY) {
    const absl::Status set = (*database)->Run("PRAGMA temp_store = MEMORY");
    if (!set.ok()) return set;
  }
  SqliteWriter writer(**database, *wanted);
  absl::StatusOr<std::string> names = "";
  if (!wanted->empty()) names = source.write(writer);
  if (!names.ok()) return names.status();
  if (writer.has_other_bytes()) sink.on_other_bytes();
  Permission permission;
  Guard(**database, permission);
  auto statement = PrepareOne(**database, sql);
  if (!statement.ok()) return WithTables(statement.status(), *names);
  return Step({**database, *std::move(statement)}, sink);
}

}  // namespace countrace::rmap
