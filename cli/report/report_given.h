// `countrace report --given CONDITION`: calls for which it holds, and the rest.
#ifndef COUNTRACE_CLI_REPORT_REPORT_GIVEN_H_
#define COUNTRACE_CLI_REPORT_REPORT_GIVEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// A row for each number of the calls of each segment, of --segment or all, in
// `format` (a value of --format).
// Errors: NOT_FOUND: there is no such segment; wrong usage: calls have no such
// number.
absl::StatusOr<ReportAnswer> ReportGiven(const ReportRequest& request,
                                         const std::string& format);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_GIVEN_H_
