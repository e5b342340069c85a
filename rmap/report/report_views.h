// The renderings behind RenderReport(), one file each: report_text.cc,
// report_json.cc, report_csv.cc.
#ifndef COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_
#define COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_

#include <string>

#include "rmap/report/render_options.h"
#include "rmap/tables/tables.h"

namespace countrace::rmap {

std::string RenderText(const Report& report, const RenderOptions& options);
// `countrace.report/1`; kDefault: every table; else one table with its trace,
// books and loss.
std::string RenderJson(const Report& report, ReportBy by,
                       const RowSelection* selection);
// The same as one object a line, each with "table" first.
std::string RenderJsonLines(const Report& report, ReportBy by,
                            const RowSelection* selection);
// One table, RFC 4180 with a header line; kDefault: processes. With
// RenderOptions::bounds, a number that can have an interval has two more
// columns, NAME.lo and NAME.hi; hi empty: no upper limit.
std::string RenderCsv(const Report& report, const RenderOptions& options);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_REPORT_VIEWS_H_
