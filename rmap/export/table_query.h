// One SELECT over the tables of traces, in a database that is gone afterwards.
//
//   statement --prepared over empty tables--> which tables it reads
//   traces --ExportTables--> these --statement--> rows
//
// Nothing but these tables can be read, and nothing be written: SQLite's
// authorizer refuses the rest. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_TABLE_QUERY_H_
#define COUNTRACE_RMAP_EXPORT_TABLE_QUERY_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/export/table_schema.h"
#include "rmap/export/table_writer.h"

namespace countrace::rmap {

struct QuerySource {
  std::vector<TableSchema> tables;  // TablesOf()
  // ExportTables().
  std::function<absl::StatusOr<std::string>(TableWriter&)> write;
};

struct QuerySink {
  // Called once, before the rows.
  std::function<void(const std::vector<std::string>&)> on_columns;
  // False ends the query, without an error.
  std::function<bool(std::span<const Value>)> on_row;
  // Called before the rows if the tables have bytes that are not UTF-8, which
  // rows have as U+FFFD.
  std::function<void()> on_other_bytes;
};

// Errors: INVALID_ARGUMENT the statement, in SQLite's words; of the source;
// CANCELLED `stop` said so.
absl::Status QueryTables(const QuerySource& source, const std::string& sql,
                         const std::function<bool()>& stop,
                         const QuerySink& sink);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_TABLE_QUERY_H_
