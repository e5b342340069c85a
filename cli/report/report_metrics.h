// `report --metrics`, `--metric`, `--rules`: metrics instead of counts.
#ifndef COUNTRACE_CLI_REPORT_REPORT_METRICS_H_
#define COUNTRACE_CLI_REPORT_REPORT_METRICS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// Also reads the traces of --with. Errors: as ReadRows(); wrong usage for
// rules that do not fit the trace or the table.
absl::StatusOr<ReportAnswer> ReportMetrics(const ReportRequest& request);

// A trace given by --with, which metrics call @LABEL.
struct OtherTrace {
  std::string label;
  std::unique_ptr<rmap::Report> report;
};

// Gated as the main trace is.
absl::StatusOr<std::vector<OtherTrace>> ReadOthers(
    const ReportRequest& request);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_METRICS_H_
