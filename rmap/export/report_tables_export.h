// The tables of a report as rows of values: the columns of rmap/columns/, with
// the limits of each number, and keys.
#ifndef COUNTRACE_RMAP_EXPORT_REPORT_TABLES_EXPORT_H_
#define COUNTRACE_RMAP_EXPORT_REPORT_TABLES_EXPORT_H_

#include <string>
#include <vector>

#include "rmap/columns/row_selection.h"
#include "rmap/export/table_schema.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// `books` is one of them. `recorded`: only those of which there were records.
std::vector<TableSchema> ReportTablesOf(const Report& report, bool recorded);

// The rows of those that `writer` takes; `selection`: only these, null: all.
// Requires: the report has all rows.
void WriteReportTables(const Report& report, const RowSelection* selection,
                       TableWriter& writer);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_REPORT_TABLES_EXPORT_H_
