// Rows of a table in a database, which may hold anything.
//
//   SqliteDatabase --StoredTable::Next--> cells --ReadRows--> rows of a Report
//
// Errors say the database, the table, the row and the column. Thread: one.
#ifndef COUNTRACE_RMAP_STORED_STORED_TABLE_H_
#define COUNTRACE_RMAP_STORED_STORED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/columns/column_cells.h"
#include "rmap/export/report_table.h"
#include "rmap/export/sqlite_cursor.h"
#include "rmap/export/sqlite_database.h"

namespace countrace::rmap {

class StoredTable {
 public:
  // `path`: of the database, in messages. Errors: INVALID_ARGUMENT: there is
  // no such table, or it lacks a column that `needed` names.
  static absl::StatusOr<StoredTable> Open(SqliteDatabase& database,
                                          const std::string& path,
                                          const TableSchema& schema,
                                          const std::vector<bool>& needed);

  // The next row; false: there is none.
  absl::StatusOr<bool> Next();
  // A value of the row, of the type of the schema's column; an absent one if
  // the table lacks the column. Errors: DATA_LOSS: it is of another type.
  absl::StatusOr<Cell> At(std::size_t column) const;
  // DATA_LOSS: what the row has there is no value of the column.
  absl::Status Wrong(std::size_t column) const;

 private:
  StoredTable(std::string path, TableSchema schema, SqliteCursor rows)
      : path_(std::move(path)),
        schema_(std::move(schema)),
        rows_(std::move(rows)) {}

  std::string path_;
  TableSchema schema_;
  SqliteCursor rows_;
  std::uint64_t row_ = 0;
  std::vector<std::optional<std::size_t>> places_;  // by column of the schema
};

// What can be done about a database that is not whole.
std::string ExportAgain(const std::string& path);

// Sets the limits of `number`, false: they are none. An absent number can have
// some, too.
template <typename Row>
bool SetLimits(Number number, const Cell& value, const Cell& lo, const Cell& hi,
               Row& row) {
  std::optional<std::uint64_t> least, most, of;
  if (!SetCell(value, of) || !SetCell(lo, least) || !SetCell(hi, most)) {
    return false;
  }
  if (!least) return !most;
  const Bounds bounds{*least, most.value_or(Bounds::kNone)};
  row.bounds.Set(number, of.value_or(*least + 1), bounds);
  return bounds.lo <= bounds.hi;
}

// All rows of `table`. Errors: those of StoredTable.
template <typename Row>
absl::StatusOr<std::vector<Row>> ReadRows(SqliteDatabase& database,
                                          const std::string& path,
                                          const ReportTable<Row>& table) {
  const auto& fields = table.fields();
  std::vector<bool> needed;
  for (const TableField<Row>& field : fields) {
    needed.push_back((field.column.value.has_set() || field.limits) &&
                     field.column.name.front() != "errors");
  }
  auto stored = StoredTable::Open(database, path, table.schema(), needed);
  if (!stored.ok()) return stored.status();
  std::vector<Row> rows;
  while (true) {
    const auto more = stored->Next();
    if (!more.ok()) return more.status();
    if (!*more) return rows;
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const CellAccess<Row>& access = fields[i].column.value;
      if (!access.has_set() && !fields[i].limits) continue;
      const auto cell = stored->At(i);
      if (!cell.ok()) return cell.status();
      bool is = !access.has_set() || access.Set(row, *cell);
      if constexpr (requires { row.bounds; }) {
        if (fields[i].limits) {
          const auto lo = stored->At(i + 1), hi = stored->At(i + 2);
          if (!lo.ok()) return lo.status();
          if (!hi.ok()) return hi.status();
          is = is && SetLimits(*fields[i].limits, *cell, *lo, *hi, row);
        }
      }
      if (!is) return stored->Wrong(i);
    }
  }
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STORED_STORED_TABLE_H_
