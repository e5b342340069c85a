// `report --by function`, `line`, `file`, `dso`, `address`, `calltree`,
// `callees`, `callers`: where samples were taken.
#ifndef COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_
#define COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"

namespace countrace::cli {

enum class SampleTable {
  kFunction,
  kDso,
  kAddress,
  kLine,
  kFile,
  kCallTree,  // and callees: of one function
  kCallers
};

struct SampleTableRequest {
  SampleTable table = SampleTable::kFunction;
  std::string format;    // text, json, jsonl, csv
  std::string function;  // kCallTree, kCallers: a glob; empty: all
  std::string group_by;  // GroupSamples()
  // Rows of trees below this part of all samples are left out.
  double least_share = 0;
  // ReportAnswer::periods_disagree is wanted: there must be two periods.
  bool validate = false;
};

// Errors: of the reader; FAILED_PRECONDITION the trace has no samples, or none
// with two periods;
// NOT_FOUND none of the process, thread or function.
absl::StatusOr<ReportAnswer> ReportSamples(const ReportRequest& request,
                                           const SampleTableRequest& wanted);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_REPORT_SAMPLES_H_
