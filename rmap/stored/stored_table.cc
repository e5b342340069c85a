#include "rmap/stored/stored_table.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/export/text_writer.h"

namespace countrace::rmap {
namespace {

// Amounts are of 64 bits.
constexpr double kMostReal = 0x1p63;

}  // namespace

std::string ExportAgain(const std::string& path) {
  return absl::StrFormat(
      "export it from its trace again: countrace export "
      "--to sqlite -o %s TRACE",
      path);
}

absl::StatusOr<StoredTable> StoredTable::Open(SqliteDatabase& database,
                                              const std::string& path,
                                              const TableSchema& schema,
                                              const std::vector<bool>& needed) {
  auto statement = database.Prepare(absl::StrFormat(
      "SELECT * FROM %s ORDER BY rowid", QuotedName(schema.name)));
  if (!statement.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s has no table `%s` of a report (%s): %s", path, schema.name,
        statement.status().message(), ExportAgain(path)));
  }
  StoredTable table(path, schema, {database, *std::move(statement)});
  const std::vector<std::string> names = table.rows_.Names();
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    std::optional<std::size_t>& place = table.places_.emplace_back();
    for (std::size_t at = 0; at < names.size() && !place; ++at) {
      if (names[at] == schema.columns[i].name) place = at;
    }
    if (place || !needed[i]) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: the table `%s` has no column `%s`: %s", path, schema.name,
        base::EscapeName(schema.columns[i].name), ExportAgain(path)));
  }
  return table;
}

absl::StatusOr<bool> StoredTable::Next() {
  ++row_;
  const auto more = rows_.Next();
  if (!absl::IsInvalidArgument(more.status())) return more;
  return absl::DataLossError(absl::StrFormat(
      "%s is damaged: table %s, row %d: %s; %s", path_, schema_.name, row_,
      more.status().message(), ExportAgain(path_)));
}

absl::StatusOr<Cell> StoredTable::At(std::size_t column) const {
  if (!places_[column]) return Cell();
  const Value value = rows_.At(*places_[column]);
  const ValueType type = schema_.columns[column].type;
  const auto* const text = std::get_if<std::string_view>(&value);
  const auto* const number = std::get_if<std::int64_t>(&value);
  const auto* const real = std::get_if<double>(&value);
  if (value.index() == 0) return Cell();
  if (type == ValueType::kText && text != nullptr) {
    return Cell(std::string(*text));
  }
  if (type == ValueType::kInteger && number != nullptr) {
    if (*number < 0) return Cell(*number);
    return Cell(static_cast<std::uint64_t>(*number));
  }
  if (type == ValueType::kReal && real != nullptr && *real >= 0 &&
      *real <= kMostReal) {
    return Cell(*real);
  }
  return Wrong(column);
}

absl::Status StoredTable::Wrong(std::size_t column) const {
  constexpr std::size_t kShown = 60;
  std::string text;
  if (places_[column]) AppendCsv(rows_.At(*places_[column]), text);
  return absl::DataLossError(absl::StrFormat(
      "%s is damaged: table %s, row %d: %s cannot be `%s`; %s", path_,
      schema_.name, row_, base::EscapeName(schema_.columns[column].name),
      base::EscapeName(text.substr(0, kShown)), ExportAgain(path_)));
}

}  // namespace countrace::rmap
