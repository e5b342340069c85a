// One SELECT over the tables of a trace, in a database that is gone afterwards.
//
//   statement --prepared over empty tables--> which tables it reads
//   trace --ExportTables--> these --statement--> rows
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
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/export/table_schema.h"
#include "rmap/pipeline.h"

namespace countrace::rmap {

struct QuerySink {
  // Called once, before the rows.
  std::function<void(const std::vector<std::string>&)> on_columns;
  // False ends the query, without an error.
  std::function<bool(std::span<const Value>)> on_row;
  // Called before the rows if the tables have bytes that are not UTF-8, which
  // rows have as U+FFFD.
  std::function<void()> on_other_bytes;
};

// Errors: INVALID_ARGUMENT the statement, in SQLite's words; of the reader;
// CANCELLED `stop` or `progress` said so.
absl::Status QueryTables(logformat::TraceReader& reader,
                         const TableRange& range, const std::string& sql,
                         const logformat::ProgressCallback& progress,
                         const std::function<bool()>& stop,
                         const QuerySink& sink);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_TABLE_QUERY_H_
