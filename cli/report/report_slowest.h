// `countrace report --slowest N SEGMENT`: single calls.
#ifndef COUNTRACE_CLI_REPORT_REPORT_SLOWEST_H_
#define COUNTRACE_CLI_REPORT_REPORT_SLOWEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

// The `most` slowest calls of the segments that match `segment`, a glob, as a
// table in `format` (a value of --format).
// Errors: NOT_FOUND: there is no such segment; the message names near ones.
absl::StatusOr<ReportAnswer> ReportSlowest(const ReportRequest& request,
                                           std::uint64_t most,
                                           const std::string& segment,
                                           const std::string& format);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_SLOWEST_H_
