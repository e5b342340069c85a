// Renders a Report (tables.h): text tables, JSON `countrace.report/1`, JSONL,
// CSV. The column list in report_columns.h names each column, its unit and its
// meaning once; all renderings are views of it.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_
#define COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_

#include <string>
#include <vector>

#include "rmap/columns/row_selection.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

enum class ReportFormat { kText, kJson, kJsonLines, kCsv };
// kDefault: summary, processes, segments, books, loss.
enum class ReportBy : int {
  kDefault,
  kProcess,
  kThread,
  kSegment,
  kPath,
  kCpu,
  kHook,
  kWaker
};

struct RenderOptions {
  ReportFormat format = ReportFormat::kText;
  ReportBy by = ReportBy::kDefault;
  std::size_t max_rows = 20;  // text only; 0 = all. Cut rows are said.
  bool color = false;
  std::size_t width = 100;  // columns of the terminal
  // Rows to show; null: all. The table of `by` must apply, if it is one.
  const RowSelection* selection = nullptr;
};

// Names from the trace are escaped: control characters, ESC and bidi marks
// never reach a terminal.
std::string RenderReport(const Report& report, const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_
