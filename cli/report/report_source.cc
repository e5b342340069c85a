#include "cli/report/report_source.h"

#include <cstddef>
#include <utility>

#include "cli/program/exit_status.h"
#include "cli/program/interruption.h"
#include "rmap/hosts/merged_report.h"
#include "rmap/samples/names/blocked_places.h"
#include "rmap/tables/input/report_events.h"

namespace countrace::cli {

absl::StatusOr<ReportSource> ReportSource::Open(TraceInput& input,
                                                const std::string& path,
                                                TimesUse times) {
  ReportSource source;
  if (rmap::IsDatabase(path)) {
    auto stored = rmap::ReadStoredReport(path, [] { return IsInterrupted(); });
    if (!stored.ok()) return stored.status();
    source.stored_ = *std::move(stored);
    return source;
  }
  auto reader = input.Open(path, times);
  if (!reader.ok()) return reader.status();
  source.traces_.traces.push_back({path, reader->get()});
  source.traces_.readers.push_back(*std::move(reader));
  return source;
}

absl::StatusOr<ReportSource> ReportSource::OpenSeveral(
    TraceInput& input, const std::vector<GivenHost>& hosts,
    const std::string& pairs) {
  auto traces = OpenHosts(hosts, pairs, input);
  if (!traces.ok()) return traces.status();
  ReportSource source;
  source.traces_ = *std::move(traces);
  return source;
}

std::vector<std::string> ReportSource::Events() const {
  const auto empty = Empty({});
  return empty.ok() ? EventNames(empty->events) : std::vector<std::string>();
}

absl::StatusOr<rmap::Report> ReportSource::Empty(
    const rmap::GatingRequest& gating) const {
  if (of_tables()) return stored_.empty;
  std::vector<rmap::HostReport> parts;
  for (std::size_t i = 0; i < traces_.traces.size(); ++i) {
    auto empty = rmap::EmptyReport(traces_.readers[i]->info(), gating);
    if (!empty.ok() || !of_hosts()) return empty;
    parts.push_back(
        {traces_.traces[i].name, traces_.clocks[i], *std::move(empty)});
  }
  return rmap::MergeReports(std::move(parts));
}

TraceExtent ReportSource::Extent() const { return ExtentOf(traces_); }

absl::StatusOr<rmap::Report> ReportSource::Read(
    const rmap::PipelineOptions& options) {
  if (of_tables()) {
    const absl::Status kept = rmap::KeepWanted(options.rows, stored_.report);
    if (!kept.ok()) return AsUsage(kept);
    return std::move(stored_.report);
  }
  std::vector<rmap::HostReport> parts;
  for (std::size_t i = 0; i < traces_.traces.size(); ++i) {
    rmap::PipelineOptions own = options;
    own.range = OwnRange(traces_, i, options.range);
    auto report = rmap::Reconstruct(*traces_.readers[i], own);
    if (!report.ok()) return report;
    if (options.rows.samples) rmap::NameBlockedPlaces(*report);
    if (!of_hosts()) return report;
    parts.push_back(
        {traces_.traces[i].name, traces_.clocks[i], *std::move(report)});
  }
  return rmap::MergeReports(std::move(parts));
}

}  // namespace countrace::cli
