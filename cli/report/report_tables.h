// `countrace report`, `report --by process` and the like: tables of counts.
#ifndef COUNTRACE_CLI_REPORT_REPORT_TABLES_H_
#define COUNTRACE_CLI_REPORT_REPORT_TABLES_H_

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// Errors: as ReadRows().
absl::StatusOr<ReportAnswer> ReportTables(const ReportRequest& request);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_TABLES_H_
