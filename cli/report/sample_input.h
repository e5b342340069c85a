// The samples of a trace, as `report` and `annotate` read them.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/report_request.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/result/data_detail.h"
#include "rmap/result/sample_table.h"

namespace countrace::cli {

struct SampleInput {
  std::unique_ptr<logformat::TraceReader> reader;
  rmap::Report report;       // with samples
  std::vector<bool> chosen;  // of Samples::contexts; empty: all
};

using TraceCheck = std::function<absl::Status(const logformat::TraceInfo&)>;

// Uses the trace, range, process and thread of `request`. `check` is called
// before the records are read, and its errors are returned.
// Errors: of the reader; wrong usage (IsUsage()): the range;
// FAILED_PRECONDITION the trace has no samples; NOT_FOUND none is of the
// process, or of the thread.
absl::StatusOr<SampleInput> ReadSamples(
    const ReportRequest& request,
    rmap::DataDetail data = rmap::DataDetail::kNone,
    const TraceCheck& check = {});

// Rows of a table for each thread, process, or all processes of one name, user
// or cgroup. `by`: SampleTable::group_by. Returns: the group of each context
// (rmap::SampleChoice::groups). Requires: report.samples.
std::vector<std::uint32_t> GroupSamples(const rmap::Report& report,
                                        const std::string& by,
                                        std::vector<rmap::SampleGroup>& groups);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_
