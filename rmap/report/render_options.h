// How a report is shown: format, table, rows, terminal.
#ifndef COUNTRACE_RMAP_REPORT_RENDER_OPTIONS_H_
#define COUNTRACE_RMAP_REPORT_RENDER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rmap/columns/report_by.h"
#include "rmap/columns/row_selection.h"

namespace countrace::rmap {

enum class ReportFormat : std::uint8_t { kText, kJson, kJsonLines, kCsv };

struct RenderOptions {
  ReportFormat format = ReportFormat::kText;
  ReportBy by = ReportBy::kDefault;
  std::size_t max_rows = 20;  // text only; 0 = all. Text notes omitted rows.
  // Text: also a table of the interval of each inexact number; CSV: columns.
  bool bounds = false;
  // Only these columns, in this order; empty: the usual ones.
  // Checked with CheckColumns(); a table shows those that it has.
  std::vector<std::string> columns{};
  bool color = false;
  std::size_t width = 100;  // of the terminal, in columns
  // Rows to show; null: all. If `by` names a table, the selection must apply to
  // it.
  const RowSelection* selection = nullptr;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_RENDER_OPTIONS_H_
