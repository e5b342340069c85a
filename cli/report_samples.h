// `report --by function`, `dso`, `address`: where samples were taken.
#ifndef COUNTRACE_CLI_REPORT_SAMPLES_H_
#define COUNTRACE_CLI_REPORT_SAMPLES_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report_request.h"
#include "rmap/samples/function_rows.h"

namespace countrace::cli {

// `format`: text, json, jsonl, csv. Errors: of the reader; FAILED_PRECONDITION
// the trace has no samples.
absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           rmap::CodeBy by,
                                           const std::string& format);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLES_H_
