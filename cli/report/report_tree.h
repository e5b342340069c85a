// `report --tree`: a tree of rules instead of counts; and `--format pmcount`,
// the listing that a trace was imported from.
#ifndef COUNTRACE_CLI_REPORT_REPORT_TREE_H_
#define COUNTRACE_CLI_REPORT_REPORT_TREE_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// `over_time`: a tree for each interval (--every). Errors: as ReadRows(); wrong
// usage for rules or a tree that do not fit.
absl::StatusOr<ReportAnswer> ReportTree(const ReportRequest& request,
                                        bool over_time);

// Text, CSV, JSON or JSON lines. Requires: report.tree_table.
std::string RenderTree(const rmap::Report& report,
                       const rmap::RenderOptions& options);

// Errors: FAILED_PRECONDITION: the trace is not of a pmcount listing.
absl::StatusOr<ReportAnswer> ReportListing(const ReportRequest& request);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_TREE_H_
