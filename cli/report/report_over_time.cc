#include "cli/report/report_over_time.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/progress_bar.h"
#include "logformat/description/recorded_part.h"
#include "rmap/over_time/over_time.h"
#include "rmap/over_time/over_time_render.h"
#include "rmap/over_time/phases.h"
#include "rmap/pipeline.h"
#include "rmap/tables/input/report_events.h"
#include "rmap/where/row_filter.h"

namespace countrace::cli {
namespace {

// A length of 1, 2 or 5 times a power of ten ns: about `intervals` of them.
std::uint64_t RoundInterval(std::uint64_t duration_ns,
                            std::uint64_t intervals) {
  const std::uint64_t least_ns = duration_ns / intervals + 1;
  for (std::uint64_t power = 1;; power *= 10) {
    for (const std::uint64_t factor : {1, 2, 5}) {
      if (factor * power >= least_ns) return factor * power;
    }
  }
}

absl::StatusOr<rmap::Report> Read(logformat::TraceReader& reader,
                                  const ReportRequest& request,
                                  const char* label,
                                  rmap::TimelineObserver* observer) {
  ProgressBar progress(label + request.trace, request.input->show_progress());
  return rmap::Reconstruct(reader, {.observer = observer,
                                    .gating = request.gating,
                                    .progress = progress.Callback(),
                                    .keep_interrupted = observer != nullptr});
}

// What is read of the trace, by time and by hooks.
absl::StatusOr<rmap::OverTimeOptions> OptionsOf(
    const ReportRequest& request, const logformat::TraceReader& reader) {
  rmap::OverTimeOptions options;
  const std::uint64_t part_ns =
      logformat::PartBeginNs(reader.info(), reader.end_ns());
  options.of_range = part_ns > reader.complete_from_ns();
  options.begin_ns = std::max(reader.complete_from_ns(), part_ns);
  options.every_ns = request.every_ns;
  if (request.range.given()) {
    const TraceExtent extent = ExtentOf(reader);
    const auto range = ParseRange(request.range, extent);
    if (!range.ok()) {
      return AsUsage(absl::InvalidArgumentError(range.status().message()));
    }
    options.of_range |= range->from_ns > extent.begin_ns;
    if (options.of_range) options.begin_ns = range->from_ns;
    options.until_ns = range->to_ns;
  }
  // Without kernel records there are only calls.
  const bool hooks_only =
      reader.info().scope == logformat::SessionScope::kHooksOnly;
  if (!request.segment.empty() || hooks_only) {
    options.hooks = rmap::SegmentsNamed(
        reader.info(), request.segment.empty() ? "*" : request.segment);
    if (options.hooks->empty() && !request.segment.empty()) {
      return absl::NotFoundError(absl::StrFormat(
          "No segment matches --segment %s: `countrace list hooks %s` names "
          "them",
          base::EscapeName(request.segment), base::EscapeName(request.trace)));
    }
  }
  return options;
}

// Restricts it to the threads and rows of `report` that were selected.
absl::Status Select(const ReportRequest& request, const rmap::Report& report,
                    const logformat::TraceInfo& info,
                    rmap::OverTimeOptions& options) {
  if (!request.selects()) return absl::OkStatus();
  const auto selection =
      rmap::where::SelectRows(request.where, report, request.owners());
  if (!selection.ok()) return AsUsage(selection.status());
  return AsUsage(rmap::AddSelected(report, info, *selection, options));
}

}  // namespace

absl::StatusOr<ReportAnswer> ReportOverTime(const ReportRequest& request,
                                            bool phases) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  auto options = OptionsOf(request, **reader);
  if (!options.ok()) return options.status();
  const auto schema = rmap::EmptyReport((*reader)->info(), request.gating);
  if (!schema.ok()) return schema.status();
  const absl::Status fits =
      rmap::where::CheckWhere(request.where, *schema, rmap::ReportBy::kDefault);
  if (!fits.ok()) return AsUsage(fits);
  if (request.every_ns == 0 || request.selects()) {
    const auto report = Read(**reader, request, "finding out about ", nullptr);
    if (!report.ok()) return report.status();
    if (request.every_ns == 0) {
      const std::uint64_t begin_ns =
          std::max(report->begin_ns, options->begin_ns);
      const std::uint64_t end_ns = std::min(report->end_ns, options->until_ns);
      options->every_ns =
          RoundInterval(end_ns - std::min(begin_ns, end_ns), phases ? 400 : 40);
    }
    const absl::Status selected =
        Select(request, *report, (*reader)->info(), *options);
    if (!selected.ok()) return selected;
    // Reads the same records again: threads get the same numbers.
    reader = request.input->Open(request.trace);
    if (!reader.ok()) return reader.status();
  }

  rmap::OverTime over_time((*reader)->info(), *std::move(options));
  const auto report = Read(**reader, request, "reading ", &over_time);
  if (!report.ok()) return report.status();
  const auto series = over_time.Finish(*report);
  if (!series.ok()) return series.status();
  if (!phases) {
    std::string text = rmap::RenderOverTime(*series, request.render);
    if (request.render.format == rmap::ReportFormat::kText) {
      for (const std::string& scaled : ScaledCounts(*report)) {
        text += scaled + "\n";
      }
    }
    return AnswerOf(*report, std::move(text));
  }
  const std::vector<rmap::Feature> features = rmap::FeaturesOf(*series);
  return AnswerOf(
      *report, rmap::RenderPhases(*series, features, rmap::FindPhases(features),
                                  request.render));
}

}  // namespace countrace::cli
