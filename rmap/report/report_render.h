// Renders a Report (tables.h): text tables, JSON `countrace.report/1`, JSONL,
// CSV. The column list in report_columns.h names each column, its unit and its
// meaning once; all renderings are views of it.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_
#define COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_

#include <string>

#include "rmap/report/render_options.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// Escapes names from the trace: control characters, ESC and bidi marks never
// reach a terminal.
std::string RenderReport(const Report& report, const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_REPORT_RENDER_H_
