// What a table is outside of the program: names, types, units and meanings, the
// same in every format. docs/tables.md is printed from it.
#ifndef COUNTRACE_RMAP_EXPORT_TABLE_SCHEMA_H_
#define COUNTRACE_RMAP_EXPORT_TABLE_SCHEMA_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rmap/columns/column.h"

namespace countrace::rmap {

// Changes when a table or column gets another name or meaning; `meta` has it.
inline constexpr char kTablesSchema[] = "countrace.tables/1";

enum class ValueType : std::uint8_t { kInteger, kReal, kText };
const char* ValueTypeName(ValueType type);  // "integer", "real", "text"

struct TableColumn {
  std::string name;
  ValueType type = ValueType::kInteger;
  Unit unit = Unit::kNone;
  std::string meaning;
  // False: a key or a limit, which the report's own table does not show.
  bool of_report = true;
  bool is_instant = false;  // a time on the trace's clock, not a duration
};

struct TableSchema {
  std::string name;
  std::string meaning;
  std::vector<TableColumn> columns;
  // Sets of columns by which rows are looked for.
  std::vector<std::vector<std::string>> indexes = {};
};

// monostate: not in the trace. The text must live until the row is written. An
// integer of 2^63 or more stays unsigned, and no format takes it.
using Value = std::variant<std::monostate, std::int64_t, std::uint64_t, double,
                           std::string_view>;

inline Value Integer(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value > kMost) return value;
  return static_cast<std::int64_t>(value);
}
inline Value Integer(std::optional<std::uint64_t> value) {
  return value ? Integer(*value) : Value();
}
inline Value TextOrAbsent(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_TABLE_SCHEMA_H_
