// One column of a table: its name, unit, meaning, and its cell for a row.
#ifndef COUNTRACE_RMAP_COLUMNS_COLUMN_H_
#define COUNTRACE_RMAP_COLUMNS_COLUMN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
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

// The cell of a row and, where it has one, the way back. Made of a function of
// the row; if that has Set(row, cell), too (false: no such value), a row can be
// read from its cells.
template <typename Row>
class CellAccess {
 public:
  CellAccess() = default;
  template <typename Access>
  // NOLINTNEXTLINE(google-explicit-constructor)
  requires std::is_invocable_v<const Access&, const Row&> CellAccess(
      Access access)
      : get_(access) {
    if constexpr (requires(Row & row) { access.Set(row, Cell()); }) {
      set_ = [access = std::move(access)](Row& row, const Cell& cell) {
        return access.Set(row, cell);
      };
    }
  }

  Cell operator()(const Row& row) const { return get_(row); }
  // False: other columns have what is in it.
  bool has_set() const { return set_ != nullptr; }
  // Returns false if `cell` is no value of the column. Requires: has_set().
  bool Set(Row& row, const Cell& cell) const { return set_(row, cell); }

 private:
  std::function<Cell(const Row&)> get_;
  std::function<bool(Row&, const Cell&)> set_;
};

template <typename Row>
struct Column {
  // JSON names from the row's object inwards; joined by '.' in CSV. An absent
  // cell is null; a group of absent cells is one null; absent cells of `counts`
  // are left out.
  std::vector<std::string> name;
  std::string title;  // in text tables; empty: not in text
  Unit unit = Unit::kNone;
  std::string meaning;
  CellAccess<Row> value;
  bool is_real = false;  // cells are doubles
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_COLUMN_H_
