// Columns of the errors of system calls, for rows that have them by errno.
#ifndef COUNTRACE_RMAP_COLUMNS_ERRNO_COLUMNS_H_
#define COUNTRACE_RMAP_COLUMNS_ERRNO_COLUMNS_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/errno_name.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

template <typename Row>
std::uint64_t FailedCalls(const Row& row) {
  std::uint64_t failed = 0;
  for (const auto& [error, calls] : row.errors) failed += calls;
  return failed;
}

// One for each errno of `rows`; a report without rows (EmptyReport()) has them
// all.
template <typename Row>
void AddErrnos(const std::vector<Row>& rows,
               std::vector<Column<Row>>& columns) {
  std::set<int> errors;
  for (const Row& row : rows) {
    for (const auto& [error, calls] : row.errors) errors.insert(error);
  }
  if (rows.empty()) errors = AllErrnos();
  for (const int error : errors) {
    columns.push_back({{"errors", ErrnoName(error)},
                       "",
                       Unit::kCount,
                       "Part of failed: with this errno.",
                       CellPair{[error](const Row& row) -> Cell {
                                  const auto found = row.errors.find(error);
                                  if (found == row.errors.end()) {
                                    return std::monostate();
                                  }
                                  return found->second;
                                },
                                [error](Row& row, const Cell& cell) {
                                  return IsAbsent(cell) ||
                                         SetCell(cell, row.errors[error]);
                                }}});
  }
}

// "ENOENT 12, EACCES 1": most calls first.
template <typename Row>
std::string ErrorsText(const Row& row) {
  std::vector<std::pair<int, std::uint64_t>> errors(row.errors.begin(),
                                                    row.errors.end());
  std::stable_sort(
      errors.begin(), errors.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [error, calls] : errors) {
    absl::StrAppendFormat(&text, "%s%s %d", text.empty() ? "" : ", ",
                          ErrnoName(error), calls);
  }
  return text;
}

// The same for text: one column for all errnos.
template <typename Row>
std::vector<Column<Row>> WithErrorsText(std::vector<Column<Row>> columns) {
  columns.push_back(
      {{"errnos"}, "errors", Unit::kNone, "", [](const Row& row) -> Cell {
         const std::string text = ErrorsText(row);
         return text.empty() ? Cell() : text;
       }});
  return columns;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_ERRNO_COLUMNS_H_
