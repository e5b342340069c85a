// The samples of a trace, as `report` and `annotate` read them.
#ifndef COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_
#define COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/program/range_options.h"
#include "cli/report/report_request.h"
#include "cli/trace/trace_input.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/result/data_detail.h"

namespace countrace::cli {

struct SampleInputRequest {
  TraceInput* input = nullptr;  // not null
  std::string trace;
  rmap::GatingRequest gating = {};
  RangeOptions range = {};
  std::string process = {}, thread = {};  // glob or number; empty: all
  rmap::DataDetail data = rmap::DataDetail::kNone;
};

struct SampleInput {
  std::unique_ptr<logformat::TraceReader> reader;
  rmap::Report report;       // with samples
  std::vector<bool> chosen;  // of Samples::contexts; empty: all
};

// Errors: of the reader; wrong usage (IsUsage()): the range;
// FAILED_PRECONDITION the trace has no samples; NOT_FOUND none is of the
// process, or of the thread.
absl::StatusOr<SampleInput> ReadSamples(const SampleInputRequest& request);
// Those that a request of `report` is about.
absl::StatusOr<SampleInput> ReadReportSamples(const ReportRequest& request,
                                              rmap::DataDetail data);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_REPORT_SAMPLE_INPUT_H_
