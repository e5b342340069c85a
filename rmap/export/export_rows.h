// Which rows of a trace are exported: of a part of its time, of some processes
// or threads, or those for which an expression is true.
#ifndef COUNTRACE_RMAP_EXPORT_EXPORT_ROWS_H_
#define COUNTRACE_RMAP_EXPORT_EXPORT_ROWS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/export/stream_observer.h"
#include "rmap/pipeline.h"
#include "rmap/where/row_owners.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap {

struct ExportRows {
  TableRange range = {};
  where::OwnerGlobs owners = {};
  where::WhereExpression where = {};  // no steps: all rows
  bool texts = true;                  // false: without those that hooks stored

  bool selects() const { return owners.given() || !where.steps.empty(); }
};

// Errors: INVALID_ARGUMENT: `table` cannot have such rows.
absl::Status CheckRows(const ExportRows& rows, const std::string& table,
                       const logformat::TraceInfo& info);

// The threads of `rows.owners`. Reads the trace, if not all are wanted.
absl::StatusOr<StreamObserver::Threads> ThreadsOf(
    const ExportRows& rows, logformat::TraceReader& reader,
    const logformat::ProgressCallback& progress);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_EXPORT_ROWS_H_
