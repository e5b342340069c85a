// The order of the tables of a range: by one column, on the server, so that a
// page holds the first rows of all and not only of those that were sent.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_TABLE_ORDER_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_TABLE_ORDER_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/range/wait_totals.h"

namespace countrace::viewer {

struct TableOrder {
  std::string_view column;  // as in API.md, "aggregate"
  bool descending = true;
  // So many rows have their place; the others come after them in any order.
  std::size_t rows = ~std::size_t{0};
};

// Tables that were not requested are empty. CPUs are always by number.
struct SortedTables {
  RangeTotals totals;
  std::vector<ThreadTotals> threads = {};
  std::vector<WaitRow> waits = {};
  std::vector<rmap::CpuRow> cpus = {};
};

// Sorts the rows of each table that has the column; rows with equal values
// stay in their order. Returns false if no table has it.
bool SortTables(const TimelineIndex& index, TableOrder order,
                SortedTables& tables);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_TABLE_ORDER_H_
