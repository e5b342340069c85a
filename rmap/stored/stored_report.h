// A report from the tables that `export --to sqlite` made of it, instead of its
// trace's records: every rendering of it is the same.
//
//   web.db --meta, events--> Report without rows --its tables--> Report
//
// Thread: one.
#ifndef COUNTRACE_RMAP_STORED_STORED_REPORT_H_
#define COUNTRACE_RMAP_STORED_STORED_REPORT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// True if the file at `path` begins as a database of SQLite.
bool IsDatabase(const std::string& path);

struct StoredReport {
  Report empty;   // its tables and columns, without rows
  Report report;  // all rows; `wanted` is that of ExportTables()
};

// Reads the database at `path`. `stop`: called now and then. Errors:
// INVALID_ARGUMENT: it has no report, or one of another version; DATA_LOSS: it
// is damaged; CANCELLED `stop` said so.
absl::StatusOr<StoredReport> ReadStoredReport(const std::string& path,
                                              std::function<bool()> stop);

// Leaves out of a stored report what is not in `wanted`. Errors:
// INVALID_ARGUMENT: in it are rows that only the trace's records give.
absl::Status KeepWanted(const WantedRows& wanted, Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STORED_STORED_REPORT_H_
