// `report --by time` and `--by phase`: reads the trace, and reads it twice if a
// named row or the length of the intervals must be found first.
#ifndef COUNTRACE_CLI_REPORT_REPORT_OVER_TIME_H_
#define COUNTRACE_CLI_REPORT_REPORT_OVER_TIME_H_

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// `phases`: --by phase. Errors: of the reader; OUT_OF_RANGE for too many
// intervals; NOT_FOUND if a glob matches nothing, or `where` selects nothing;
// wrong usage for a `where` that does not fit the trace; CANCELLED after
// Ctrl-C if nothing was counted yet.
absl::StatusOr<ReportAnswer> ReportOverTime(const ReportRequest& request,
                                            bool phases);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_OVER_TIME_H_
