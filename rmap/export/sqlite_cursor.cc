#include "rmap/export/sqlite_cursor.h"

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

namespace countrace::rmap {

std::vector<std::string> SqliteCursor::Names() const {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement_.get()); ++i) {
    const char* const name = sqlite3_column_name(statement_.get(), i);
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

absl::StatusOr<bool> SqliteCursor::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  return database_->Error(code, "read");
}

Value SqliteCursor::At(std::size_t column) const {
  sqlite3_stmt* const row = statement_.get();
  const int place = static_cast<int>(column);
  switch (sqlite3_column_type(row, place)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(row, place)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, place);
    case SQLITE_NULL:
      return {};
    default: {
      const void* const bytes = sqlite3_column_blob(row, place);
      const auto size =
          static_cast<std::size_t>(sqlite3_column_bytes(row, place));
      return std::string_view(static_cast<const char*>(bytes), size);
    }
  }
}

}  // namespace countrace::rmap
