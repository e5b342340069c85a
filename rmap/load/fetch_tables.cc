#include "rmap/load/fetch_tables.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/quantity_parse.h"
#include "rmap/export/streamed_tables.h"
#include "rmap/load/engine_tables.h"

namespace countrace::rmap {
namespace {

constexpr std::int64_t kPageRows = 50'000;
constexpr std::size_t kListBytes = 500;

struct StoredTable {
  TableSchema schema;
  std::int64_t rows = 0;
};

absl::StatusOr<std::string> FindTrace(Engine& engine,
                                      const std::string& which) {
  std::vector<std::string> found;
  std::string list;
  const absl::Status status = engine.Read(
      absl::StrFormat(
          "SELECT \"trace\", \"host\", \"path\", \"recording\" FROM \"%s\" "
          "ORDER BY \"host\", \"trace\"",
          kTracesTable),
      [&](const TextRow& row) {
        const std::string uuid = row[0].value_or(""),
                          host = row[1].value_or("");
        list += absl::StrFormat("%s%s (%s of %s)", list.empty() ? "" : ", ",
                                uuid, row[2].value_or(""), host);
        if (which.empty() || which == uuid || which == host ||
            which == row[3].value_or("")) {
          found.push_back(uuid);
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  if (found.size() == 1) return found.front();
  return absl::NotFoundError(absl::StrFormat(
      "%d loaded traces are `%s`: say which, as ADDRESS#UUID or ADDRESS#HOST; "
      "there are: %s",
      found.size(), which, list.substr(0, kListBytes)));
}

// Of ColumnsText(). False: it is none.
bool ReadColumns(std::string_view text, TableSchema& schema) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> cells;
    for (auto& cell : CellsOf(text.substr(0, end))) {
      cells.push_back(std::move(cell).value_or(""));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    if (cells[0] == kIndexLine) {
      schema.indexes.emplace_back(cells.begin() + 1, cells.end());
      continue;
    }
    if (cells.size() != 3) return false;
    const auto type = base::ParseInteger(cells[1]);
    if (!type || *type > static_cast<int>(ValueType::kText)) return false;
    schema.columns.push_back({.name = cells[0],
                              .type = static_cast<ValueType>(*type),
                              .unit = Unit::kNone,
                              .meaning = "",
                              .of_report = cells[2] == "1"});
  }
  return !schema.columns.empty();
}

template <typename Number>
Value NumberOf(const std::string& text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Value ValueOf(ValueType type, const std::optional<std::string>& cell) {
  if (!cell) return {};
  switch (type) {
    case ValueType::kInteger:
      return NumberOf<std::int64_t>(*cell);
    case ValueType::kReal:
      return NumberOf<double>(*cell);
    case ValueType::kText:
      return std::string_view(*cell);
  }
  return {};
}

absl::Status FetchTable(Engine& engine, const std::string& trace,
                        const StoredTable& table, RowWriter& out) {
  std::string names;
  for (const TableColumn& column : table.schema.columns) {
    names +=
        (names.empty() ? "" : ", ") + ColumnName(engine.dialect(), column.name);
  }
  std::int64_t found = 0;
  for (std::int64_t from = 0; from < table.rows; from += kPageRows) {
    std::vector<Value> values(table.schema.columns.size());
    const absl::Status status = engine.Read(
        absl::StrFormat("SELECT %s FROM \"%s\" WHERE \"trace\" = '%s' AND "
                        "\"row\" >= %d AND \"row\" < %d ORDER BY \"row\"",
                        names, table.schema.name, trace, from,
                        from + kPageRows),
        [&](const TextRow& row) {
          if (row.size() != values.size()) {
            return absl::DataLossError("a row has another number of cells");
          }
          for (std::size_t i = 0; i < row.size(); ++i) {
            values[i] = ValueOf(table.schema.columns[i].type, row[i]);
          }
          out.Write(values);
          ++found;
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
  }
  if (found == table.rows) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "%s has %d rows of trace %s there, not %d: delete the rows of this trace "
      "and load it again",
      table.schema.name, found, trace, table.rows));
}

bool IsOfReport(const std::string& name) {
  return name == "meta" ||
         std::ranges::none_of(StreamedTables(), [&](const TableSchema& table) {
           return table.name == name;
         });
}

}  // namespace

absl::Status FetchTables(Engine& engine, const std::string& which,
                         TableWriter& writer) {
  EngineTables there(engine);
  absl::Status status = there.Read();
  if (status.ok()) status = CheckSchema({&there, 1}, /*migrate=*/false);
  if (!status.ok()) return status;
  const auto trace = FindTrace(engine, which);
  if (!trace.ok()) return trace.status();
  std::vector<StoredTable> tables;
  status = engine.Read(
      absl::StrFormat("SELECT \"name\", \"rows\", \"columns\" FROM \"%s\" "
                      "WHERE \"trace\" = '%s' AND \"row\" > 0 ORDER BY \"row\"",
                      kLoadsTable, *trace),
      [&](const TextRow& row) {
        StoredTable table;
        table.schema.name = row[0].value_or("");
        table.rows = std::get<std::int64_t>(
            NumberOf<std::int64_t>(row[1].value_or("0")));
        if (!ReadColumns(row[2].value_or(""), table.schema)) {
          return absl::DataLossError(absl::StrFormat(
              "the columns of %s are damaged there", table.schema.name));
        }
        if (IsOfReport(table.schema.name)) tables.push_back(std::move(table));
        return absl::OkStatus();
      });
  for (const StoredTable& table : tables) {
    if (!status.ok()) return status;
    status = FetchTable(engine, *trace, table, *writer.Begin(table.schema));
  }
  return status.ok() ? writer.Finish() : status;
}

}  // namespace countrace::rmap
