#include "cli/report/report_tables.h"

#include <cstdio>
#include <string_view>

#include "absl/strings/str_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/verb.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/report/report_views.h"

namespace countrace::cli {

using rmap::ReportBy;
using rmap::ReportFormat;

absl::StatusOr<ReportAnswer> ReportTables(const ReportRequest& request) {
  // Counts of hooks in text and CSV: no cell of them is a time.
  const bool counts = request.render.by == ReportBy::kHook &&
                      !request.range.given() && !request.selects() &&
                      (request.render.format == ReportFormat::kText ||
                       request.render.format == ReportFormat::kCsv);
  auto source =
      SourceOf(request, counts ? TimesUse::kNotNeeded : TimesUse::kNeeded);
  if (!source.ok()) return source.status();
  rmap::RenderOptions render = request.render;
  // CSV can hold one table only.
  const bool summary_as_csv =
      render.by == ReportBy::kDefault && render.format == ReportFormat::kCsv;
  if (!render.columns.empty()) {
    const auto schema = SchemaOf(request, *source);
    if (!schema.ok()) return schema.status();
    std::vector<ReportBy> tables = {render.by};
    if (render.by == ReportBy::kDefault) {
      tables = summary_as_csv
                   ? std::vector<ReportBy>{ReportBy::kProcess}
                   : std::vector<ReportBy>{ReportBy::kProcess, ReportBy::kPath,
                                           ReportBy::kWaker};
    }
    const absl::Status status =
        rmap::CheckColumns(*schema, tables, render.columns);
    if (!status.ok()) return AsUsage(status);
  }
  const auto rows = ReadRows(
      request, summary_as_csv ? ReportBy::kProcess : render.by, *source);
  if (!rows.ok()) return rows.status();
  const char* const missing = rmap::NotRecorded(render.by, rows->report);
  if (*missing != '\0' && render.format != ReportFormat::kText) {
    Say(kReportVerb.name, missing);
  }
  if ((request.rows_by == "user" || request.rows_by == "cgroup") &&
      !rows->report.owners) {
    Say(kReportVerb.name,
        absl::StrFormat("this trace does not hold the %ss of its processes",
                        request.rows_by));
  }
  if (summary_as_csv) {
    Say(kReportVerb.name,
        "CSV holds one table, here that of processes; --by thread, segment, "
        "path, cpu, hook, waker, preemptor, syscall, fault, file or level "
        "prints another, --format json all");
  }
  if (rows->selection) render.selection = &*rows->selection;
  const bool json_lines = render.format == ReportFormat::kJsonLines;
  if ((json_lines || render.format == ReportFormat::kJson) &&
      !rows->report.interrupted) {  // else a message comes first
    // What could not be written is reported with the rest, by PrintData().
    const auto print = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    };
    const auto& render_json =
        json_lines ? rmap::RenderJsonLines : rmap::RenderJson;
    return AnswerOf(rows->report, render_json(rows->report, render, print));
  }
  return AnswerOf(rows->report, rmap::RenderReport(rows->report, render));
}

}  // namespace countrace::cli
