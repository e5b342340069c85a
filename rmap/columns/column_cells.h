// Common code of columns: values of rows as cells.
#ifndef COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
#define COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_

#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "rmap/columns/column.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

template <typename Value>
Cell CellOf(const Value& value) {
  if constexpr (kIsOptional<Value>) {
    return value ? CellOf(*value) : Cell();
  } else if constexpr (std::is_same_v<Value, Quality>) {
    return std::string(QualityName(value));
  } else if constexpr (std::is_unsigned_v<Value>) {
    return std::uint64_t{value};
  } else if constexpr (std::is_integral_v<Value>) {
    return std::int64_t{value};
  } else {
    return value;
  }
}
// A part of a part of `value`.
template <typename Value, typename Part, typename... More>
Cell CellOf(const Value& value, Part part, More... more) {
  if constexpr (kIsOptional<Value>) {
    return value ? CellOf(*value, part, more...) : Cell();
  } else {
    return CellOf(value.*part, more...);
  }
}

// The cell of a field of the row, or of the field of a field.
template <typename Row, typename Value, typename... Parts>
auto Field(Value Row::*field, Parts... parts) {
  return [=](const Row& row) { return CellOf(row.*field, parts...); };
}
template <typename Row>
auto Incl(std::optional<InclusiveExclusive> Row::*field) {
  return Field(field, &InclusiveExclusive::incl);
}
template <typename Row>
auto Excl(std::optional<InclusiveExclusive> Row::*field) {
  return Field(field, &InclusiveExclusive::excl);
}

// The cell of a name or id; absent if several rows were added up that do not
// share it.
template <typename Row, typename Value>
auto Shared(Value Row::*field) {
  return [field](const Row& row) {
    const bool differ = row.grouped.rows > 1 && row.*field == Value();
    return differ ? Cell() : CellOf(row.*field);
  };
}

// A number of up to 64 bits, of either sign; another text as it is.
inline Cell IntegerCell(const std::string& text) {
  std::uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  std::int64_t negative = 0;
  if (absl::SimpleAtoi(text, &negative)) return negative;
  return text;
}

inline Cell NameOrAbsent(const std::string& name) {
  return name.empty() ? Cell() : name;
}

template <typename Row>
void Append(std::vector<Column<Row>> more, std::vector<Column<Row>>& columns) {
  columns.insert(columns.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

// Times are integer nanoseconds in every format.
inline Cell Rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

// One column for each event, for rows with `counts`.
template <typename Row>
void AddCounts(const Report& report, Unit (*unit)(const std::string&),
               std::vector<Column<Row>>& columns) {
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string& event = report.events[i].name;
    columns.push_back({{"counts", event},
                       event,
                       unit(event),
                       "Count of this event while on a CPU.",
                       [i](const Row& row) -> Cell {
                         if (i >= row.counts.size()) return std::monostate();
                         return CellOf(row.counts[i]);
                       }});
  }
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

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
