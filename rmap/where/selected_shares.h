// The part of the total that the selected rows of a table have.
#ifndef COUNTRACE_RMAP_WHERE_SELECTED_SHARES_H_
#define COUNTRACE_RMAP_WHERE_SELECTED_SHARES_H_

#include <string>
#include <vector>

#include "rmap/columns/report_tables.h"
#include "rmap/columns/row_selection.h"
#include "rmap/result/samples.h"

namespace countrace::rmap::where {

// Replaces totals by those of the books, if there are any.
void UseBooks(const Report& report, TableSelection& selection);

// Fills in `selection.shares`. Requires: `selection.rows` belongs to `rows`.
template <typename Row>
void AddShares(const Report& report, const Table<Row>& table,
               const std::vector<Column<Row>>& columns,
               const std::vector<Row>& rows, TableSelection& selection) {
  // Amounts of different events do not add up.
  if (table.by == ReportBy::kSample && report.samples->events.size() > 1)
    return;
  bool time_is_wall = false;
  if constexpr (requires(const Row& row) { row.on_cpu; }) {
    time_is_wall = true;
    for (const Row& row : rows) time_is_wall &= !row.on_cpu.has_value();
  }
  const std::string_view sum = time_is_wall ? table.or_sum : table.sum;
  for (const Column<Row>& column : columns) {
    SelectedShare share;
    share.is_event = column.name.front() == "counts";
    share.name = share.is_event ? column.name[1] : FullName(column);
    if (share.is_event ? column.name.size() > 2 && column.name.back() != "excl"
                       : share.name != sum) {
      continue;
    }
    share.is_time = column.unit == Unit::kNanoseconds;
    if constexpr (requires(const Row& row) { row.self.exact; }) {
      for (const Row& row : rows) share.scaled |= !row.self.exact;
    }
    bool known = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Cell cell = column.value(rows[i]);
      const auto* value = std::get_if<std::uint64_t>(&cell);
      if (value == nullptr) continue;
      known = true;
      share.total += *value;
      if (selection.rows[i]) share.selected += *value;
    }
    if (known) selection.shares.push_back(share);
  }
  UseBooks(report, selection);
}

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_SELECTED_SHARES_H_
