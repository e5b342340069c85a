// Common code of columns: values of rows as cells.
#ifndef COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
#define COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "rmap/columns/column.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

template <typename Value>
Cell FromOptional(const std::optional<Value>& value) {
  if (!value) return std::monostate();
  return *value;
}

inline Cell Incl(const std::optional<InclusiveExclusive>& pair) {
  if (!pair) return std::monostate();
  return pair->incl;
}
inline Cell Excl(const std::optional<InclusiveExclusive>& pair) {
  if (!pair) return std::monostate();
  return pair->excl;
}

// Times are integer nanoseconds in every format.
inline Cell Rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

// The columns of what probes took in a row. `meaning`: of the estimate.
template <typename Row>
void AddProbes(const char* meaning, std::vector<Column<Row>>& columns) {
  const auto add = [&](const char* name, const char* title, const char* what,
                       std::uint64_t ProbeTime::*part) {
    columns.push_back({{"probes_ns", name},
                       title,
                       Unit::kNanoseconds,
                       what,
                       [part](const Row& row) -> Cell {
                         if (!row.probes) return std::monostate();
                         return (*row.probes).*part;
                       }});
  };
  add("estimate", "probes", meaning, &ProbeTime::ns);
  add("lo", "", "Lower limit of that.", &ProbeTime::lo_ns);
  add("hi", "", "Upper limit.", &ProbeTime::hi_ns);
}

inline Cell Number(std::int32_t value) { return std::int64_t{value}; }

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
