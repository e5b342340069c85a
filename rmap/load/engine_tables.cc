#include "rmap/load/engine_tables.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace countrace::rmap {
namespace {

constexpr int kTries = 20;  // of statements that meet those of other processes

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

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string Unquoted(const std::string& name) {
  return name.substr(1, name.size() - 2);
}

std::string CreateSql(const Dialect& dialect, const TableSchema& schema) {
  std::string sql = absl::StrFormat(
      "CREATE TABLE IF NOT EXISTS \"%s\" (\"host\" %s, \"boot\" %s, "
      "\"trace\" %s, \"row\" %s",
      schema.name, dialect.name, dialect.uuid, dialect.uuid, dialect.number);
  for (const TableColumn& column : schema.columns) {
    sql += ", " + ColumnName(dialect, column.name) + " " +
           TypeName(dialect, column.type);
  }
  return sql + dialect.table_end;
}

absl::Status AddColumns(Engine& engine, const TableSchema& schema) {
  const Dialect& dialect = engine.dialect();
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    const auto there = engine.Columns(schema.name);
    if (!there.ok()) return there.status();
    std::string added;
    for (const TableColumn& column : schema.columns) {
      const std::string name = ColumnName(dialect, column.name);
      if (Has(*there, Unquoted(name))) continue;
      added += absl::StrFormat("%s%s%s %s", added.empty() ? "" : ", ",
                               dialect.add_column, name,
                               TypeName(dialect, column.type));
    }
    if (added.empty()) return absl::OkStatus();
    // Another process may have added them.
    last = engine.Run("ALTER TABLE \"" + schema.name + "\" " + added);
    if (absl::IsUnavailable(last) || absl::IsPermissionDenied(last)) break;
  }
  return last;
}

// The columns of the view that is there, and those of the report in `schema`.
absl::Status UpdateView(Engine& engine, const TableSchema& schema) {
  const std::string &table = schema.name, view = "report_" + table;
  std::vector<std::string> of_report = {"\"host\"", "\"trace\""};
  for (const TableColumn& column : schema.columns) {
    if (!column.of_report) continue;
    of_report.push_back(ColumnName(engine.dialect(), column.name));
  }
  absl::Status last;
  for (int i = 0; i < kTries; ++i) {
    const auto all = engine.Columns(table);
    if (!all.ok()) return all.status();
    const auto there = engine.Columns(view);
    if (!there.ok()) return there.status();
    std::vector<std::string> wanted;
    for (const std::string& name : *all) {
      if (Has(*there, name) || Has(of_report, '"' + name + '"')) {
        wanted.push_back(name);
      }
    }
    if (*there == wanted) return absl::OkStatus();
    if (!engine.dialect().replaces_view && !there->empty()) {
      last = engine.Run(
          absl::StrFormat("%s\"%s\"", engine.dialect().drop_view, view));
      if (absl::IsUnavailable(last)) break;
    }
    last = engine.Run(absl::StrFormat(
        "%s\"%s\" AS SELECT \"%s\" FROM \"%s\" ORDER BY \"trace\", \"row\"",
        engine.dialect().create_view, view, absl::StrJoin(wanted, "\", \""),
        table));
    if (absl::IsUnavailable(last) || absl::IsPermissionDenied(last)) break;
  }
  return last;
}

absl::Status Prepare(Engine& engine, const TableSchema& schema) {
  absl::Status status = engine.Run(CreateSql(engine.dialect(), schema));
  if (status.ok()) status = AddColumns(engine, schema);
  const bool view = std::ranges::any_of(
      schema.columns,
      [](const TableColumn& column) { return !column.of_report; });
  return status.ok() && view ? UpdateView(engine, schema) : status;
}

// Views are made again when the tables are.
absl::Status SetAside(Engine& engine, const std::string& table,
                      const std::string& version) {
  const Dialect& dialect = engine.dialect();
  const auto columns = engine.Columns(table);
  if (!columns.ok() || columns->empty()) return columns.status();
  const absl::Status status =
      engine.Run(absl::StrFormat("%s\"report_%s\"", dialect.drop_view, table));
  if (!status.ok()) return status;
  return engine.Run(absl::StrFormat("%s\"%s\"%s\"v%s_%s\"",
                                    dialect.rename_table, table,
                                    dialect.rename_to, version, table));
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
      {TextColumn("path"), TextColumn("command"), NumberColumn("begin_ns"),
       NumberColumn("realtime_offset_ns"), NumberColumn("rows")}};
  return schema;
}

std::string ColumnName(const Dialect& dialect, std::string_view name) {
  if (name.size() <= dialect.name_bytes) {
    return absl::StrFormat("\"%s\"", name);
  }
  return absl::StrFormat("\"%s~%08x\"", name.substr(0, dialect.name_bytes - 9),
                         Fnv(name));
}

absl::Status PrepareTable(Engine& engine, const TableSchema& schema) {
  absl::Status status = engine.BeginTables();
  if (!status.ok()) return status;
  status = Prepare(engine, schema);
  const absl::Status ended = engine.EndTables();
  return status.ok() ? ended : status;
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

absl::Status CheckSchema(Engine& engine, bool migrate) {
  const auto there = engine.Columns(kLoadsTable);
  if (!there.ok() || there->empty()) return there.status();
  std::vector<std::string> versions, tables;
  absl::Status status = engine.Read(
      absl::StrFormat("SELECT DISTINCT \"schema\" FROM \"%s\"", kLoadsTable),
      [&](const TextRow& row) {
        if (row[0] != kTablesSchema) versions.push_back(row[0].value_or(""));
        return absl::OkStatus();
      });
  if (!status.ok() || versions.empty()) return status;
  const std::string& other = versions.front();
  if (!migrate) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the tables there are of %s, this program's of %s: `load --migrate` "
        "keeps those under other names and makes new ones",
        other, kTablesSchema));
  }
  status = engine.Read(
      absl::StrFormat("SELECT DISTINCT \"name\" FROM \"%s\" WHERE \"row\" > 0",
                      kLoadsTable),
      [&](const TextRow& row) {
        tables.push_back(row[0].value_or(""));
        return absl::OkStatus();
      });
  tables.emplace_back(kTracesTable);
  tables.push_back(kLoadsTable);  // the last: an interrupted one goes on
  const std::string version = other.substr(other.rfind('/') + 1);
  for (const std::string& table : tables) {
    if (status.ok()) status = SetAside(engine, table, version);
  }
  return status;
}

}  // namespace countrace::rmap
