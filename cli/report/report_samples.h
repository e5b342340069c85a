// `report --by function`, `line`, `file`, `dso`, `address`: where samples were
// taken; `calltree`, `callees`, `callers`: by which calls; `data`, `data-page`,
// `data-address`, `data-source`: what their data addresses belong to.
#ifndef COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_
#define COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"
#include "rmap/result/sample_table.h"

namespace countrace::cli {

struct SampleTableRequest {
  rmap::SampleTable table;  // without rows
  std::string function;     // trees: a glob; empty: all
  // Rows of trees below this part of all samples are left out.
  double least_share = 0;
  // ReportAnswer::periods_disagree is wanted: there must be two periods.
  bool validate = false;
};

// Errors: of the reader; wrong usage for a `where`, `sort`, `columns` or
// `range` that does not fit; FAILED_PRECONDITION the trace has no samples, none
// with two periods, or none with data; NOT_FOUND none of the process, thread or
// function.
absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           const SampleTableRequest& wanted);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_
