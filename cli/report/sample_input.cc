#include "cli/report/sample_input.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/progress_bar.h"
#include "cli/report/sample_groups.h"
#include "rmap/result/samples.h"

namespace countrace::cli {

absl::StatusOr<SampleInput> ReadSamples(const SampleInputRequest& request) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  rmap::TableRange tables_of;
  if (request.range.given()) {
    const auto range = ParseRange(request.range, ExtentOf(**reader));
    if (!range.ok()) {
      return AsUsage(absl::InvalidArgumentError(range.status().message()));
    }
    tables_of = {range->from_ns, range->to_ns};
  }
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  auto report = rmap::Reconstruct(**reader, {.gating = request.gating,
                                             .rows = {.samples = true},
                                             .range = tables_of,
                                             .progress = progress.Callback(),
                                             .keep_interrupted = true,
                                             .data = request.data});
  progress.Clear();
  if (!report.ok()) return report.status();
  if (report->samples->events.empty()) {
    return absl::FailedPreconditionError(
        "the trace has no samples: `countrace record --sample 199` takes them");
  }
  SampleInput out{std::move(*reader), *std::move(report), {}};
  out.chosen = ChosenContexts(out.report, request.process, request.thread);
  if (out.chosen.empty() || std::find(out.chosen.begin(), out.chosen.end(),
                                      true) != out.chosen.end()) {
    return out;
  }
  if (request.thread.empty()) {
    return absl::NotFoundError(
        absl::StrFormat("no samples of a process %s: `countrace report --by "
                        "process` names them",
                        base::EscapeName(request.process)));
  }
  return absl::NotFoundError(absl::StrFormat(
      "no samples of a thread %s%s%s: `countrace report --by thread` names "
      "them",
      base::EscapeName(request.thread),
      request.process.empty() ? "" : " of a process ",
      base::EscapeName(request.process)));
}

absl::StatusOr<SampleInput> ReadReportSamples(const ReportRequest& request,
                                              rmap::DataDetail data) {
  return ReadSamples({.input = request.input,
                      .trace = request.trace,
                      .gating = request.gating,
                      .range = request.range,
                      .process = request.process,
                      .thread = request.thread,
                      .data = data});
}

}  // namespace countrace::cli
