// Our tables in an engine: made where they are missing, with the columns that a
// trace has besides, and with the views of the report.
#ifndef COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_
#define COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/export/table_schema.h"
#include "rmap/load/engine.h"

namespace countrace::rmap {

// What is loaded: row 0 of a trace, when its load begins, has no name; the next
// ones a table each, when all of it is there.
inline constexpr char kLoadsTable[] = "loads";
// A row for each trace that is there completely.
inline constexpr char kTracesTable[] = "traces";
// What a line of loads.columns that is no column begins with.
inline constexpr char kIndexLine[] = "*";
const TableSchema& LoadsSchema();
const TableSchema& TracesSchema();

// In double quotes. A name that is too long for the engine ends with "~" and a
// number that it always has.
std::string ColumnName(const Dialect& dialect, std::string_view name);

// How many rows of the trace the table has: the first ones.
absl::StatusOr<std::int64_t> StoredRows(Engine& engine,
                                        const std::string& table,
                                        const std::string& trace);

class EngineTables {
 public:
  explicit EngineTables(Engine& engine) : engine_(&engine) {}

  // What there is: first of all.
  absl::Status Read();

  // Makes or extends the table, and its view. When all loads have ended, a view
  // has each column of the report that its table has: each load looks at both
  // after its last change of either.
  absl::Status Prepare(const TableSchema& schema);

  // Tables that are there, as far as their columns tell.
  std::vector<TableSchema> Schemas() const;

 private:
  struct Column {
    std::string name, type;
    bool of_report = false;  // true: certainly
  };
  using Columns = std::vector<Column>;

  Columns Of(const std::string& table) const;
  absl::Status Complete(const TableSchema& schema);
  std::vector<std::string> Missing(const TableSchema& schema) const;
  std::vector<std::string> MissingView(const TableSchema& schema) const;
  friend absl::Status CheckSchema(std::span<EngineTables> places, bool migrate);
  // Versions that are not ours, and names of tables.
  absl::Status ReadLoads(std::set<std::string>& others,
                         std::set<std::string>& tables);
  absl::Status SetAside(const std::string& table, const std::string& version);

  Engine* engine_;
  std::map<std::string, Columns> columns_;  // by table or view
};

// Errors: FAILED_PRECONDITION: tables of one of `places` are of another
// version; names both. `migrate`: renames those of all instead, to
// vVERSION_NAME; tables that stand for others are dropped.
absl::Status CheckSchema(std::span<EngineTables> places, bool migrate);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_
