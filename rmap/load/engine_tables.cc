#include "rmap/load/engine_tables.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace countrace::rmap {
namespace {

constexpr int kTries = 100;  // of statements that meet those of other loads

const std::string kViewBegin = "report_";
constexpr std::size_t kKeyColumns = 4;  // host, boot, trace, row

TableColumn TextColumn(const char* name) {
  return {name, ValueType::kText, Unit::kNone, ""};
}
TableColumn NumberColumn(const char* name) {
  return {name, ValueType::kInteger, Unit::kNone, ""};
}

const char* TypeName(const Dialect& dialect, ValueType type) {
  return type == ValueType::kText   ? dialect.text
         : type == ValueType::kReal ? dialect.real
                                    : dialect.integer;
}

// Unlike absl::Hash, the same in every process.
std::uint32_t Fnv(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

// Else the same may go well again.
bool IsFinal(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsPermissionDenied(status);
}

std::string Quoted(std::string_view name) {
  return absl::StrFormat("\"%s\"", name);
}

}  // namespace

const TableSchema& LoadsSchema() {
  static const TableSchema schema = {
      kLoadsTable,
      "",
      {TextColumn("schema"), TextColumn("name"), NumberColumn("rows"),
       TextColumn("columns")}};
  return schema;
}

const TableSchema& TracesSchema() {
  static const TableSchema schema = {
      kTracesTable,
      "",
      {TextColumn("path"), TextColumn("command"), TextColumn("recording"),
       NumberColumn("begin_ns"), NumberColumn("realtime_offset_ns"),
       NumberColumn("rows")}};
  return schema;
}

std::string ColumnName(const Dialect& dialect, std::string_view name) {
  if (name.size() <= dialect.name_bytes) return Quoted(name);
  return absl::StrFormat("\"%s~%08x\"", name.substr(0, dialect.name_bytes - 9),
                         Fnv(name));
}

absl::StatusOr<std::int64_t> StoredRows(Engine& engine,
                                        const std::string& table,
                                        const std::string& trace) {
  std::int64_t rows = 0;
  const absl::Status status = engine.Read(
      absl::StrFormat("SELECT \"row\" FROM \"%s\" WHERE \"trace\" = '%s' "
                      "ORDER BY \"row\" DESC LIMIT 1",
                      table, trace),
      [&](const TextRow& row) {
        rows = std::stoll(row[0].value_or("0")) + 1;
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return rows;
}

absl::Status EngineTables::Read() {
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    columns_.clear();
    status = engine_->Read(engine_->dialect().columns, [&](const TextRow& row) {
      columns_[row[0].value_or("")].push_back(
          {row[1].value_or(""), row[2].value_or(""), row[3] == "1"});
      return absl::OkStatus();
    });
    if (status.ok() || IsFinal(status)) break;
    // ClickHouse fails when another load drops a view meanwhile.
  }
  return status;
}

EngineTables::Columns EngineTables::Of(const std::string& table) const {
  const auto found = columns_.find(table);
  return found == columns_.end() ? Columns() : found->second;
}

absl::Status EngineTables::Prepare(const TableSchema& schema) {
  if (Missing(schema).empty()) return absl::OkStatus();
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    const absl::Status begun = engine_->BeginTables();
    if (!begun.ok()) return begun;
    // Another load may have done the same.
    last = Complete(schema);
    if (IsFinal(last)) break;
    const absl::Status ended = engine_->EndTables();
    if (last.ok() || !ended.ok()) return ended;
  }
  return last;
}

absl::Status EngineTables::Complete(const TableSchema& schema) {
  for (int i = 0; i < kTries; ++i) {
    absl::Status status = Read();
    const std::vector<std::string> missing = Missing(schema);
    if (!status.ok() || missing.empty()) return status;
    for (const std::string& sql : missing) {
      status = engine_->Run(sql);
      if (!status.ok()) return status;
    }
  }
  return absl::UnavailableError(
      absl::StrFormat("other loads change %s all the time", schema.name));
}

// Statements, after which more may be missing.
std::vector<std::string> EngineTables::Missing(
    const TableSchema& schema) const {
  const Dialect& dialect = engine_->dialect();
  const Columns there = Of(schema.name);
  std::string added;
  for (const TableColumn& column : schema.columns) {
    const std::string name = ColumnName(dialect, column.name);
    const auto is = [&](const Column& one) { return Quoted(one.name) == name; };
    if (std::ranges::any_of(there, is)) continue;
    added += absl::StrFormat("%s%s%s %s%s",
                             there.empty() || !added.empty() ? ", " : "",
                             there.empty() ? "" : dialect.add_column, name,
                             TypeName(dialect, column.type),
                             column.of_report ? "" : dialect.not_of_report);
  }
  if (there.empty()) {
    return {absl::StrFormat(
        "CREATE TABLE IF NOT EXISTS \"%s\" (\"host\" %s, \"boot\" %s, "
        "\"trace\" %s, \"row\" %s%s%s",
        schema.name, dialect.name, dialect.uuid, dialect.uuid, dialect.number,
        added, engine_->TableEnd(schema.name))};
  }
  if (!added.empty()) {
    return {absl::StrFormat("ALTER TABLE \"%s\" %s", schema.name, added)};
  }
  return MissingView(schema);
}

// Its columns are those of the report in the table, of any trace.
std::vector<std::string> EngineTables::MissingView(
    const TableSchema& schema) const {
  const Dialect& dialect = engine_->dialect();
  std::set<std::string> of_report = {Quoted("host"), Quoted("trace")};
  for (const TableColumn& column : schema.columns) {
    if (column.of_report) of_report.insert(ColumnName(dialect, column.name));
  }
  if (of_report.size() == schema.columns.size() + 2) return {};
  const std::string view = kViewBegin + schema.name;
  std::vector<std::string> there, wanted;
  for (const Column& column : Of(view)) {
    there.push_back(Quoted(column.name));
    of_report.insert(there.back());
  }
  for (const Column& column : Of(schema.name)) {
    std::string name = Quoted(column.name);
    if (column.of_report || of_report.contains(name)) wanted.push_back(name);
  }
  if (there == wanted) return {};
  std::vector<std::string> sql = {absl::StrFormat(
      "%s\"%s\" AS SELECT %s FROM \"%s\" ORDER BY \"trace\", \"row\"",
      dialect.create_view, view, absl::StrJoin(wanted, ", "), schema.name)};
  if (!dialect.replaces_view && !there.empty()) {
    sql.insert(sql.begin(),
               absl::StrFormat("%s\"%s\"", dialect.drop_view, view));
  }
  return sql;
}

std::vector<TableSchema> EngineTables::Schemas() const {
  const Dialect& dialect = engine_->dialect();
  std::vector<TableSchema> schemas;
  for (const auto& [name, columns] : columns_) {
    // Not a view, nor a table of others.
    if (columns.size() < kKeyColumns || columns[3].name != "row") continue;
    TableSchema& schema = schemas.emplace_back(TableSchema{name, "", {}});
    for (std::size_t i = kKeyColumns; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const ValueType type = column.type == dialect.text ? ValueType::kText
                             : column.type == dialect.real
                                 ? ValueType::kReal
                                 : ValueType::kInteger;
      schema.columns.push_back(
          {column.name, type, Unit::kNone, "", column.of_report});
    }
  }
  return schemas;
}

absl::Status EngineTables::ReadLoads(std::set<std::string>& others,
                                     std::set<std::string>& tables) {
  if (!engine_->HasRows() || Of(kLoadsTable).empty()) return absl::OkStatus();
  return engine_->Read(
      absl::StrFormat("SELECT DISTINCT \"schema\", \"name\" FROM \"%s\"",
                      kLoadsTable),
      [&](const TextRow& row) {
        if (row[0] != kTablesSchema) others.insert(row[0].value_or(""));
        tables.insert(row[1].value_or(""));
        return absl::OkStatus();
      });
}

// Views are made again when the tables are.
absl::Status EngineTables::SetAside(const std::string& table,
                                    const std::string& version) {
  if (Of(table).empty()) return absl::OkStatus();
  const Dialect& dialect = engine_->dialect();
  const std::string view = kViewBegin + table;
  const absl::Status status =
      engine_->Run(absl::StrFormat("%s\"%s\"", dialect.drop_view, view));
  if (!status.ok()) return status;
  columns_.erase(view);
  columns_.erase(table);
  return engine_->Run(engine_->HasRows()
                          ? absl::StrFormat("%s\"%s\"%s\"v%s_%s\"",
                                            dialect.rename_table, table,
                                            dialect.rename_to, version, table)
                          : absl::StrFormat("DROP TABLE \"%s\"", table));
}

absl::Status CheckSchema(std::span<EngineTables> places, bool migrate) {
  std::set<std::string> others, found;
  absl::Status status;
  for (EngineTables& place : places) {
    if (status.ok()) status = place.ReadLoads(others, found);
  }
  if (!status.ok() || others.empty()) return status;
  const std::string& other = *others.begin();
  if (!migrate) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the tables there are of %s, this program's of %s: `load --migrate` "
        "keeps those under other names and makes new ones",
        other, kTablesSchema));
  }
  std::vector<std::string> tables(found.begin(), found.end());
  tables.emplace_back(kTracesTable);
  tables.emplace_back(kLoadsTable);  // the last: an interrupted one goes on
  const std::string version = other.substr(other.rfind('/') + 1);
  for (const std::string& table : tables) {
    for (EngineTables& place : places) {
      if (status.ok()) status = place.SetAside(table, version);
    }
  }
  return status;
}

}  // namespace countrace::rmap
