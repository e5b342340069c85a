// Which rows of a report are shown: the result of `--where`.
//
// The report stays complete, so that its books, shares and metrics are those of
// the whole trace.
#ifndef COUNTRACE_RMAP_COLUMNS_ROW_SELECTION_H_
#define COUNTRACE_RMAP_COLUMNS_ROW_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rmap/columns/report_by.h"

namespace countrace::rmap {

// A quantity that adds up over rows: the sum over the selected rows, and over
// all.
struct SelectedShare {
  std::string name;  // "on_cpu_ns", or an event
  bool is_event = false;
  bool is_time = false;
  std::uint64_t selected = 0, total = 0;
  // `total` comes from the event's book; else it is the sum over all rows.
  bool of_books = false;
  bool scaled = false;  // both are estimates
};

struct TableSelection {
  // Fields of the expression that these rows do not have. If there are any, the
  // table is left out, and all below is empty.
  std::vector<std::string> missing;
  std::vector<bool> rows;  // true: selected
  // The rows shown are sums of the selected ones: show all of them.
  bool summed = false;
  std::size_t selected = 0;
  std::vector<SelectedShare> shares;

  bool applies() const { return missing.empty(); }
};

struct RowSelection {
  std::string expression;
  std::map<ReportBy, TableSelection> tables;  // an entry for each table

  const TableSelection& Of(ReportBy table) const { return tables.at(table); }
};

// The selected ones among `rows`, or all without a selection.
template <typename Row>
std::vector<Row> SelectedRows(const std::vector<Row>& rows,
                              const RowSelection* selection, ReportBy table) {
  if (selection == nullptr) return rows;
  if (selection->Of(table).summed) return rows;
  std::vector<Row> selected;
  const std::vector<bool>& chosen = selection->Of(table).rows;
  for (std::size_t i = 0; i < rows.size() && i < chosen.size(); ++i) {
    if (chosen[i]) selected.push_back(rows[i]);
  }
  return selected;
}

// The same without a copy of all: `kept` holds the selected ones, if only some
// are.
template <typename Row>
const std::vector<Row>& SelectedRows(const std::vector<Row>& rows,
                                     const RowSelection* selection,
                                     ReportBy table, std::vector<Row>& kept) {
  if (selection == nullptr || selection->Of(table).summed) return rows;
  kept = SelectedRows(rows, selection, table);
  return kept;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_ROW_SELECTION_H_
