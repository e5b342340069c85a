// Common code of columns: values of rows as cells, and back.
#ifndef COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
#define COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "rmap/columns/column.h"
#include "rmap/columns/list_text.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;
template <typename Value>
inline constexpr bool kIsOptional<Rare<Value>> = true;

template <typename Value>
Cell CellOf(const Value& value) {
  if constexpr (kIsOptional<Value>) {
    return value ? CellOf(*value) : Cell();
  } else if constexpr (std::is_same_v<Value, Quality>) {
    return std::string(QualityName(value));
  } else if constexpr (std::is_enum_v<Value>) {
    return CellOf(static_cast<std::underlying_type_t<Value>>(value));
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

inline bool IsAbsent(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

template <typename Value>
Value& Present(std::optional<Value>& value) {
  return value ? *value : value.emplace();
}
template <typename Value>
Value& Present(Rare<Value>& value) {
  return value.Write();
}

// The inverse of QualityName().
inline std::optional<Quality> QualityNamed(std::string_view name) {
  for (const Quality quality : {Quality::kExact, Quality::kScaled,
                                Quality::kBounded, Quality::kInferred}) {
    if (name == QualityName(quality)) return quality;
  }
  return std::nullopt;
}

// The inverse of CellOf(); false: `cell` is no such value.
template <typename Value>
bool SetCell(const Cell& cell, Value& value) {
  if constexpr (kIsOptional<Value>) {
    value = Value();
    return IsAbsent(cell) || SetCell(cell, Present(value));
  } else if constexpr (std::is_same_v<Value, Quality>) {
    const auto* name = std::get_if<std::string>(&cell);
    const auto quality = name ? QualityNamed(*name) : std::nullopt;
    value = quality.value_or(Quality::kExact);
    return quality.has_value();
  } else if constexpr (std::is_enum_v<Value>) {
    std::underlying_type_t<Value> number{};
    const bool is = SetCell(cell, number);
    value = Value{number};
    return is;
  } else if constexpr (std::is_same_v<Value, bool>) {
    const auto* number = std::get_if<std::uint64_t>(&cell);
    value = number != nullptr && *number == 1;
    return number != nullptr && *number <= 1;
  } else if constexpr (std::is_integral_v<Value>) {
    const auto set = [&value](const auto* number) {
      if (number == nullptr || !std::in_range<Value>(*number)) return false;
      value = static_cast<Value>(*number);
      return true;
    };
    return set(std::get_if<std::uint64_t>(&cell)) ||
           set(std::get_if<std::int64_t>(&cell));
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    const auto* text = std::get_if<std::string>(&cell);
    if (text != nullptr) value = ListOf(*text);
    return text != nullptr;
  } else {
    const auto* same = std::get_if<Value>(&cell);
    if (same != nullptr) value = *same;
    return same != nullptr;
  }
}
// An absent cell makes no part of an absent value.
template <typename Value, typename Part, typename... More>
bool SetCell(const Cell& cell, Value& value, Part part, More... more) {
  if constexpr (kIsOptional<Value>) {
    return IsAbsent(cell) || SetCell(cell, Present(value), part, more...);
  } else {
    return SetCell(cell, value.*part, more...);
  }
}

// How a column reads a cell of a row, and how it writes it.
template <typename Get, typename Put>
struct CellPair {
  Get get;
  Put put;
  auto operator()(const auto& row) const { return get(row); }
  bool Set(auto& row, const Cell& cell) const { return put(row, cell); }
};
template <typename Get, typename Put>
CellPair(Get, Put) -> CellPair<Get, Put>;

// The cell of a field of the row, or of the field of a field.
template <typename Row, typename Value, typename... Parts>
auto Field(Value Row::*field, Parts... parts) {
  return CellPair{[=](const Row& row) { return CellOf(row.*field, parts...); },
                  [=](Row& row, const Cell& cell) {
                    return SetCell(cell, row.*field, parts...);
                  }};
}
template <typename Row>
auto Incl(std::optional<InclusiveExclusive> Row::*field) {
  return Field(field, &InclusiveExclusive::incl);
}
template <typename Row>
auto Excl(std::optional<InclusiveExclusive> Row::*field) {
  return Field(field, &InclusiveExclusive::excl);
}

// The same of an item of a list; absent as it is beyond its end.
template <typename Row, typename Value, typename... Parts>
auto Item(std::vector<std::optional<Value>> Row::*list, std::size_t at,
          Parts... parts) {
  return CellPair{[=](const Row& row) {
                    const auto& items = row.*list;
                    return at < items.size() ? CellOf(items[at], parts...)
                                             : Cell();
                  },
                  [=](Row& row, const Cell& cell) {
                    if (IsAbsent(cell)) return true;
                    auto& items = row.*list;
                    items.resize(std::max(items.size(), at + 1));
                    return SetCell(cell, items[at], parts...);
                  }};
}

// Absent if it is empty or 0.
template <typename Row, typename Value, typename... Parts>
auto OrAbsent(Value Row::*field, Parts... parts) {
  const auto access = Field(field, parts...);
  return CellPair{[=](const Row& row) {
                    const Cell cell = access(row);
                    const bool none = cell == Cell(std::string()) ||
                                      cell == Cell(std::int64_t{0}) ||
                                      cell == Cell(std::uint64_t{0});
                    return none ? Cell() : cell;
                  },
                  [=](Row& row, const Cell& cell) {
                    return IsAbsent(cell) || access.Set(row, cell);
                  }};
}

// The cell of a name or id; absent if several rows were added up that do not
// share it.
template <typename Row, typename Value>
auto Shared(Value Row::*field) {
  return CellPair{[field](const Row& row) {
                    std::uint64_t rows = 1;
                    if constexpr (requires { row.grouped; }) {
                      rows = row.grouped.rows;
                    } else {
                      rows = row.processes;
                    }
                    const bool differ = rows > 1 && row.*field == Value();
                    return differ ? Cell() : CellOf(row.*field);
                  },
                  [field](Row& row, const Cell& cell) {
                    return SetCell(cell, row.*field);
                  }};
}

// The kind of a cause by its name; `last` is the last of all kinds.
template <typename Row, typename By, typename Kind>
auto KindCell(By Row::*cause, const char* (*name_of)(Kind), Kind last) {
  return CellPair{[=](const Row& row) -> Cell {
                    return std::string(name_of((row.*cause).kind));
                  },
                  [=](Row& row, const Cell& cell) {
                    for (int kind = 0; kind <= static_cast<int>(last); ++kind) {
                      (row.*cause).kind = static_cast<Kind>(kind);
                      if (cell == CellOf(std::string(name_of(Kind(kind))))) {
                        return true;
                      }
                    }
                    return false;
                  }};
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
                       Item(&Row::counts, i)});
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
                       Field(&Row::probes, part)});
  };
  add("estimate", "probes", meaning, &ProbeTime::ns);
  add("lo", "", "Lower limit of that.", &ProbeTime::lo_ns);
  add("hi", "", "Upper limit.", &ProbeTime::hi_ns);
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_COLUMN_CELLS_H_
