#include "cli/report_tables.h"

#include "cli/exit_status.h"
#include "cli/verb.h"

namespace countrace::cli {

using rmap::ReportBy;
using rmap::ReportFormat;

absl::StatusOr<ReportAnswer> ReportTables(const ReportRequest& request) {
  auto reader = request.input->Open(request.trace);
  if (!reader.ok()) return reader.status();
  rmap::RenderOptions render = request.render;
  // CSV can hold one table only.
  const bool summary_as_csv =
      render.by == ReportBy::kDefault && render.format == ReportFormat::kCsv;
  const auto rows = ReadRows(
      request, summary_as_csv ? ReportBy::kProcess : render.by, **reader);
  if (!rows.ok()) return rows.status();
  if (render.by == ReportBy::kWaker && !rows->report.wakeups &&
      render.format != ReportFormat::kText) {
    Say(kReportVerb.name,
        "no wake-ups were recorded: `record --kernel wakeups` shows what ended "
        "blocked time");
  }
  if (rows->selection) render.selection = &*rows->selection;
  return AnswerOf(rows->report, rmap::RenderReport(rows->report, render));
}

}  // namespace countrace::cli
