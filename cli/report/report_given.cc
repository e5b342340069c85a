#include "cli/report/report_given.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/progress_bar.h"
#include "cli/program/row_table.h"
#include "logformat/jump_hook.h"
#include "rmap/diff/change_format.h"
#include "rmap/given_calls.h"
#include "rmap/over_time/over_time.h"

namespace countrace::cli {
namespace {

std::vector<Cell> RowOf(const rmap::GivenRow& row,
                        const logformat::TraceInfo& info, bool text) {
  const bool is_time = row.number.ends_with("_ns");
  const auto mean = [&](const std::optional<double>& value) -> Cell {
    if (!value) return std::monostate();
    return text ? Cell(rmap::diff::FormatAmount(*value, is_time))
                : Cell(*value);
  };
  const auto difference = [&](double value) -> Cell {
    return text ? Cell(rmap::diff::FormatSigned(value, is_time)) : Cell(value);
  };
  const logformat::HookInfo* const hook = info.FindHook(row.hook_id);
  std::vector<Cell> cells = {hook == nullptr
                                 ? absl::StrFormat("hook %d", row.hook_id)
                                 : hook->FullName(),
                             row.number,
                             row.given,
                             row.rest,
                             row.unknown,
                             mean(row.mean_given),
                             mean(row.mean_rest)};
  cells.resize(10, std::monostate());
  if (!row.change) return cells;
  if (const auto& interval = row.change->interval) {
    cells[7] = difference(interval->low);
    cells[8] = difference(interval->high);
  }
  cells[9] = std::string(rmap::diff::VerdictName(row.change->verdict));
  return cells;
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportGiven(const ReportRequest& request,
                                         const std::string& format) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  const logformat::TraceInfo& info = (*reader)->info();
  const std::string segment = request.segment.empty() ? "*" : request.segment;
  const auto hooks = rmap::SegmentsNamed(info, segment);
  if (hooks.empty()) {
    return absl::NotFoundError(absl::StrFormat(
        "No segment matches --segment %s: `countrace list hooks %s` names them",
        base::EscapeName(segment), base::EscapeName(request.trace)));
  }
  const auto range = ParseRange(request.range, ExtentOf(**reader));
  if (!range.ok()) {
    return AsUsage(absl::InvalidArgumentError(range.status().message()));
  }
  const auto in_parts = [](const logformat::HookInfo& hook) {
    return hook.provider == logformat::kJumpProvider &&
           (hook.name == logformat::kStackName ||
            hook.name == logformat::kScopeName);
  };
  if (std::ranges::any_of(info.hooks, in_parts)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has calls in parts (coroutines, or stacks that a program switches):"
        " --given compares whole calls; --by segment --group-by has them",
        base::EscapeName(request.trace)));
  }
  if (!info.pauses.empty()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s leaves out pauses, and calls over one are in parts: --given "
        "compares whole calls",
        base::EscapeName(request.trace)));
  }
  auto calls =
      rmap::GivenCalls::Bind(request.given, info, {hooks.begin(), hooks.end()},
                             {range->from_ns, range->to_ns});
  if (!calls.ok()) return AsUsage(calls.status());
  ProgressBar progress("reading " + request.trace,
                       request.input->show_progress());
  const auto report =
      rmap::Reconstruct(**reader, {.observer = &*calls,
                                   .gating = request.gating,
                                   .progress = progress.Callback(),
                                   .keep_interrupted = true});
  progress.Clear();
  if (!report.ok()) return report.status();
  RowTable table("countrace.given/1", "calls",
                 {"segment", "number", "given", "rest", "unknown", "mean_given",
                  "mean_rest", "difference_low", "difference_high", "verdict"});
  for (const rmap::GivenRow& row : calls->Take()) {
    table.Add(RowOf(row, info, format == "text"));
  }
  return AnswerOf(*report, table.Render(format));
}

}  // namespace countrace::cli
