// One column of a table: its name, unit, meaning, and its cell for a row.
#ifndef COUNTRACE_RMAP_COLUMNS_COLUMN_H_
#define COUNTRACE_RMAP_COLUMNS_COLUMN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace countrace::rmap {

enum class Unit : std::uint8_t {
  kNone,  // a name
  kId,    // printed without thousands separators
  kCount,
  kNanoseconds,
  kQuality
};

// monostate: not in the trace.
using Cell = std::variant<std::monostate, bool, std::uint64_t, std::int64_t,
                          double, std::string, std::vector<std::string>>;

template <typename Row>
struct Column {
  // JSON names from the row's object inwards; joined by '.' in CSV. An absent
  // cell is null; a group of absent cells is one null; absent cells of `counts`
  // are left out.
  std::vector<std::string> name;
  std::string title;  // in text tables; empty: not in text
  Unit unit = Unit::kNone;
  std::string meaning;
  std::function<Cell(const Row&)> value;
  bool is_real = false;  // cells are doubles
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_COLUMN_H_
