// Our tables in an engine: made where they are missing, with the columns that a
// trace has besides, and with the views of the report.
#ifndef COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_
#define COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_

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

// Makes or extends the table, and its view.
absl::Status PrepareTable(Engine& engine, const TableSchema& schema);

// How many rows of the trace the table has: the first ones.
absl::StatusOr<std::int64_t> StoredRows(Engine& engine,
                                        const std::string& table,
                                        const std::string& trace);

// Errors: FAILED_PRECONDITION: the tables there are of another version; names
// both. `migrate`: renames these instead, to vVERSION_NAME.
absl::Status CheckSchema(Engine& engine, bool migrate);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_ENGINE_TABLES_H_
