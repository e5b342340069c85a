// Columns that only tables outside of the program have: what renderings take
// from a row besides its columns, so that a report can be read back
// (rmap/stored/).
#ifndef COUNTRACE_RMAP_COLUMNS_STORED_COLUMNS_H_
#define COUNTRACE_RMAP_COLUMNS_STORED_COLUMNS_H_

#include <vector>

#include "rmap/columns/column.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

// The event of a report, for a table of these.
struct EventRow {
  EventColumn event;
  bool has_books = false;  // a dump of the kernel has it
};
std::vector<Column<EventRow>> EventTableColumns();
std::vector<EventRow> EventRows(const Report& report);

// The second argument only chooses the kind of rows.
template <typename Row>
std::vector<Column<Row>> StoredColumns(const Report&, const Row*) {
  return {};
}
std::vector<Column<ProcessRow>> StoredColumns(const Report& report,
                                              const ProcessRow*);
std::vector<Column<ThreadRow>> StoredColumns(const Report& report,
                                             const ThreadRow*);
std::vector<Column<CpuRow>> StoredColumns(const Report& report, const CpuRow*);
std::vector<Column<SegmentRow>> StoredColumns(const Report& report,
                                              const SegmentRow*);
std::vector<Column<WakerRow>> StoredColumns(const Report& report,
                                            const WakerRow*);
std::vector<Column<BooksRow>> StoredColumns(const Report& report,
                                            const BooksRow*);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_STORED_COLUMNS_H_
