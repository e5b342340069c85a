// The columns that a user chose by name (`report --columns`).
#ifndef COUNTRACE_RMAP_COLUMNS_CHOSEN_COLUMNS_H_
#define COUNTRACE_RMAP_COLUMNS_CHOSEN_COLUMNS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rmap/columns/report_by.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {

// Names as in --where: those of the JSON columns, also "wall_ns" for
// "wall_ns.incl" and "page-faults" for "counts.page-faults"; or the title of a
// text table.
template <typename Row>
bool IsNamed(const Column<Row>& column, const std::string& name) {
  std::string full = FullName(column);
  if (full == name || (!column.title.empty() && column.title == name)) {
    return true;
  }
  if (column.name.back() == "incl") full.resize(full.size() - 5);
  return full == name || full == "counts." + name;
}

// Those of `columns` that `names` name, in the order of `names`; all without
// names.
template <typename Row>
std::vector<Column<Row>> ChosenColumns(std::vector<Column<Row>> columns,
                                       const std::vector<std::string>& names) {
  if (names.empty()) return columns;
  std::vector<Column<Row>> chosen;
  for (const std::string& name : names) {
    for (const Column<Row>& column : columns) {
      if (!IsNamed(column, name)) continue;
      chosen.push_back(column);
      if (column.title.empty()) chosen.back().title = FullName(column);
      break;
    }
  }
  return chosen;
}

// Returns: INVALID_ARGUMENT a name that no table of `tables` has, with the
// nearest one.
absl::Status CheckColumns(const Report& report,
                          const std::vector<ReportBy>& tables,
                          const std::vector<std::string>& names);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_CHOSEN_COLUMNS_H_
