// The tables of rows of a Report, each with its columns, for code that treats
// all of them alike.
#ifndef COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_
#define COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_

#include "rmap/columns/report_by.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/sample_table.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// The name in `countrace.report/1`: "processes", ...; "" for kDefault.
const char* TableName(ReportBy table);

// Calls visit(ReportBy, columns, rows) for each table, in the schema's order.
template <typename Visit>
void VisitTables(const Report& report, const Visit& visit) {
  if (report.sample_table) {
    visit(ReportBy::kSample, SampleColumns(report), report.sample_table->rows);
    return;
  }
  visit(ReportBy::kProcess, ProcessColumns(report), report.processes);
  visit(ReportBy::kThread, ThreadColumns(report), report.threads);
  visit(ReportBy::kSegment, SegmentColumns(report, false), report.segments);
  visit(ReportBy::kPath, SegmentColumns(report, true), report.segment_paths);
  visit(ReportBy::kHook, HookColumns(report), report.hooks);
  visit(ReportBy::kWaker, WakerColumns(report), report.wakers);
  visit(ReportBy::kPreemptor, PreemptorColumns(report), report.preemptors);
  visit(ReportBy::kSystemCall, SystemCallColumns(report),
        report.system_call_rows);
  visit(ReportBy::kCpu, CpuColumns(report), report.cpu_rows);
}

// The name in CSV: "wall_ns.incl".
template <typename Row>
std::string FullName(const Column<Row>& column) {
  std::string name;
  for (const std::string& part : column.name) {
    if (!name.empty()) name += '.';
    name += part;
  }
  return name;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_
