// The rows of a statement of SQLite, as values.
#ifndef COUNTRACE_RMAP_EXPORT_SQLITE_CURSOR_H_
#define COUNTRACE_RMAP_EXPORT_SQLITE_CURSOR_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/table_schema.h"

namespace countrace::rmap {

class SqliteCursor {
 public:
  // `database` must outlive it. Requires: `statement` is one.
  SqliteCursor(SqliteDatabase& database, Statement statement)
      : database_(&database), statement_(std::move(statement)) {}

  // Its columns.
  std::vector<std::string> Names() const;
  // The next row; false: there is none. Errors: of SqliteDatabase.
  absl::StatusOr<bool> Next();
  // A value of the row; a text is valid until Next().
  Value At(std::size_t column) const;

 private:
  SqliteDatabase* database_;
  Statement statement_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_SQLITE_CURSOR_H_
