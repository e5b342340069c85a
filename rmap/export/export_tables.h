// A trace as tables, in one pass; the format is the writer's.
//
//   TraceReader --Reconstruct--> StreamObserver --------------> TableWriter
//                        Report --report tables, samples, meta--^
//
// Memory: that of the reconstruction and of the writer. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_EXPORT_TABLES_H_
#define COUNTRACE_RMAP_EXPORT_EXPORT_TABLES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/export/export_rows.h"
#include "rmap/export/table_schema.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// The tables that a trace can have, and all columns: which of them it has
// depends on its records.
absl::StatusOr<std::vector<TableSchema>> TablesOf(
    const logformat::TraceInfo& info);

// Writes the tables that `writer` takes, and finishes it. With owners in `rows`
// it reads the trace twice. Returns: the names of the tables that the trace
// has, "processes, threads, ...". Errors: of Reconstruct(); of the writer,
// NOT_FOUND: it takes a table that the trace has not; CANCELLED `progress` said
// stop; OUT_OF_RANGE a number is too large. Requires: CheckRows() is ok for
// each of them.
absl::StatusOr<std::string> ExportTables(
    logformat::TraceReader& reader, const ExportRows& rows,
    const logformat::ProgressCallback& progress, TableWriter& writer);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_EXPORT_TABLES_H_
