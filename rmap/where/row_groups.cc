#include "rmap/where/row_groups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "rmap/columns/report_tables.h"
#include "rmap/result/limits.h"
#include "rmap/where/row_fields.h"
#include "rmap/where/row_sums.h"

namespace countrace::rmap::where {
namespace {

bool IsOfProcess(const std::string& field) {
  return field == "user" || field == "cgroup" || field == "process";
}
bool IsOfOwner(const std::string& field) {
  return IsOfProcess(field) || field == "host" || field == "comm" ||
         field == "thread";
}

template <typename Row>
constexpr bool kHasOwner = requires(const Row& row) {
  row.comm;
};
template <typename Row>
constexpr bool kHasThread = requires(const Row& row) {
  row.tid;
};

template <typename Row>
const Column<Row>* FindColumn(const std::vector<Column<Row>>& columns,
                              const std::string& name) {
  const auto found = std::ranges::find_if(
      columns, [&](const auto& column) { return FullName(column) == name; });
  return found == columns.end() ? nullptr : &*found;
}

// The names and ids that rows of `columns` can be joined by.
template <typename Row>
std::vector<std::string> NamesIn(const std::vector<Column<Row>>& columns) {
  std::vector<std::string> names;
  if constexpr (kHasOwner<Row>) {
    for (const Column<Row>& column : columns) {
      if (column.unit == Unit::kNone || column.unit == Unit::kId) {
        names.push_back(FullName(column));
      }
    }
  }
  return names;
}

template <typename Row>
bool Groups(const std::string& field, const std::vector<Column<Row>>& columns) {
  if (field == "thread") return kHasThread<Row>;
  if (IsOfOwner(field)) return kHasOwner<Row>;
  const std::vector<std::string> names = NamesIn(columns);
  return std::ranges::find(names, field) != names.end();
}

// The limits of numbers that add up, or of which the largest counts.
template <typename Row>
class LimitSums {
 public:
  LimitSums(const EventColumns& events,
            const std::vector<Column<Row>>& columns) {
    for (const Column<Row>& column : columns) {
      const auto number = NumberNamed(events, FullName(column));
      if (number) columns_[*number] = &column;
    }
  }

  // Every number that has limits in one of the two has some in the sum.
  void Add(const Row& sum, const Row& more, RowBounds& bounds) const {
    for (const Row* row : {&sum, &more}) {
      for (const auto& [number, interval] : row->bounds.entries()) {
        const auto column = columns_.find(number);
        if (bounds.Of(number) || column == columns_.end()) continue;
        Add(number, ValueOf(*column->second, sum),
            ValueOf(*column->second, more), sum, more, bounds);
      }
    }
  }

 private:
  static std::uint64_t ValueOf(const Column<Row>& column, const Row& row) {
    const Cell cell = column.value(row);
    const auto* value = std::get_if<std::uint64_t>(&cell);
    return value == nullptr ? 0 : *value;
  }

  static void Add(Number number, std::uint64_t a_value, std::uint64_t b_value,
                  const Row& sum, const Row& more, RowBounds& bounds) {
    const Bounds a = sum.bounds.Of(number).value_or(Bounds{a_value, a_value});
    const Bounds b = more.bounds.Of(number).value_or(Bounds{b_value, b_value});
    switch (number) {
      case Number::kWallMax:
      case Number::kLongest:
        bounds.Set(number, std::max(a_value, b_value),
                   {std::max(a.lo, b.lo), std::max(a.hi, b.hi)});
        break;
      case Number::kWallMin:
        bounds.Set(number, std::min(a_value, b_value),
                   {std::min(a.lo, b.lo), std::min(a.hi, b.hi)});
        break;
      case Number::kWallMean:  // between those of its parts
        bounds.Set(number, a_value,
                   {std::min(a.lo, b.lo), std::max(a.hi, b.hi)});
        break;
      case Number::kWallStddev:
        bounds.Set(number, a_value, {0, Bounds::kNone});
        break;
      case Number::kWallP50:
      case Number::kWallP90:
      case Number::kWallP99:
        break;  // absent
      default:
        bounds.Set(number, a_value + b_value,
                   {AddBounded(a.lo, b.lo), AddBounded(a.hi, b.hi)});
    }
  }

  std::map<Number, const Column<Row>*> columns_;
};

// Names of processes, before their own rows are added up.
using Owners = std::map<ProcessIndex, ProcessRow>;

// What the row is for, if that is its owner.
template <typename Row>
Cell OwnerOf(const std::string& field, const Owners& owners, const Row& row) {
  if (field == "comm") return row.comm;
  if (field == "host") return row.host.Read();
  ProcessIndex process{};
  if constexpr (requires { row.process; }) {
    process = row.process;
  } else {
    process = row.index;
  }
  if (field == "process") {
    return std::uint64_t{static_cast<std::uint32_t>(process)};
  }
  const auto owner = owners.find(process);
  if (owner == owners.end()) return std::string(kUnknownOwner);
  return field == "user" ? owner->second.user : owner->second.cgroup;
}

// The value of hooks that the row is for.
template <typename Row>
Cell ArgumentOf(const Row& row) {
  if constexpr (requires { row.grouped.argument; }) {
    if (row.grouped.argument) return *row.grouped.argument;
  }
  return std::monostate();
}

// Rows as numbers of `columns`: the largest first.
template <typename Row>
class OrderNumbers {
 public:
  OrderNumbers(const std::vector<const char*>& names,
               const std::vector<Column<Row>>& columns) {
    for (const char* name : names) {
      columns_.push_back(FindColumn(columns, name));
    }
  }

  std::vector<std::uint64_t> Of(const Row& row) const {
    std::vector<std::uint64_t> numbers;
    for (const Column<Row>* column : columns_) {
      const Cell cell = column == nullptr ? Cell() : column->value(row);
      const auto* number = std::get_if<std::uint64_t>(&cell);
      numbers.push_back(number == nullptr ? 0 : *number);
    }
    return numbers;
  }

 private:
  std::vector<const Column<Row>*> columns_;
};

// The sum of rows, and the place of its owner among all.
template <typename Row>
struct RowSum {
  Row row;
  Cell owner;
  std::vector<std::uint64_t> numbers{};
};

template <typename Row>
void Sort(std::vector<RowSum<Row>>& sums) {
  std::ranges::stable_sort(sums, std::greater(), &RowSum<Row>::numbers);
}

// Each owner's tree of call paths stays together, the longest first.
void SortPaths(std::vector<RowSum<SegmentRow>>& sums) {
  using Path = std::vector<std::string>;
  using Numbers = std::vector<std::uint64_t>;
  std::map<std::pair<Cell, Path>, Numbers> of_path;
  std::map<Cell, std::uint64_t> of_owner;
  for (const RowSum<SegmentRow>& sum : sums) {
    of_path[{sum.owner, sum.row.path}] = sum.numbers;
    if (sum.row.path.size() != 1) continue;
    of_owner[sum.owner] +=
        sum.row.on_cpu ? sum.row.on_cpu->incl : sum.row.wall.incl;
  }
  const auto before = [&](const RowSum<SegmentRow>& a,
                          const RowSum<SegmentRow>& b) {
    if (a.owner != b.owner) {
      const std::uint64_t a_ns = of_owner[a.owner], b_ns = of_owner[b.owner];
      return a_ns != b_ns ? a_ns > b_ns : a.owner < b.owner;
    }
    const Path &a_path = a.row.path, &b_path = b.row.path;
    const auto [in_a, in_b] = std::ranges::mismatch(a_path, b_path);
    if (in_a == a_path.end() || in_b == b_path.end()) {
      return a_path.size() < b_path.size();
    }
    const Numbers& a_numbers = of_path[{a.owner, {a_path.begin(), in_a + 1}}];
    const Numbers& b_numbers = of_path[{b.owner, {b_path.begin(), in_b + 1}}];
    return a_numbers != b_numbers ? a_numbers > b_numbers : *in_a < *in_b;
  };
  std::ranges::stable_sort(sums, before);
}

template <typename Row>
std::vector<Row> SumsOf(const std::string& field, const Table<Row>& table,
                        const Report& report, const Owners& owners,
                        const std::vector<Row>& rows) {
  const std::vector<Column<Row>> columns = table.columns(report);
  const LimitSums<Row> limits(report.events, columns);
  const bool by_value = field == report.wanted.value;
  const bool by_owner = IsOfOwner(field);
  std::vector<const Column<Row>*> keys;
  if (by_owner || by_value) {
    for (const char* key : table.keys) keys.push_back(FindColumn(columns, key));
  } else {
    keys.push_back(FindColumn(columns, field));
  }
  std::map<std::vector<Cell>, std::size_t> places;
  std::vector<RowSum<Row>> sums;
  for (const Row& row : rows) {
    std::vector<Cell> key;
    key.push_back(by_owner ? OwnerOf(field, owners, row) : Cell());
    for (const Column<Row>* column : keys) {
      key.push_back(column == nullptr ? Cell() : column->value(row));
    }
    const Cell owner = key.front();
    if (by_value) key.push_back(ArgumentOf(row));
    const auto [place, first] = places.emplace(std::move(key), sums.size());
    if (first) {
      sums.push_back({row, owner});
      continue;
    }
    Row& sum = sums[place->second].row;
    if (sum.host.Read() != row.host.Read()) sum.host = HostName();
    if constexpr (requires { sum.bounds; }) {
      RowBounds bounds;
      limits.Add(sum, row, bounds);
      AddRow(row, sum);
      sum.bounds = bounds;
    } else {
      AddRow(row, sum);
    }
    if constexpr (requires { sum.grouped; }) {
      sum.grouped.rows += row.grouped.rows;
    }
  }
  const OrderNumbers<Row> order(table.order, columns);
  for (RowSum<Row>& sum : sums) {
    sum.numbers = order.Of(sum.row);
    if constexpr (requires { sum.row.grouped; }) {
      if (field == "user" || field == "cgroup" || field == "host") {
        sum.row.grouped.value = std::get<std::string>(sum.owner);
      }
    }
    if constexpr (requires { sum.row.migrations; }) {
      if (field == "process") sum.row.comm = owners.at(sum.row.process).comm;
    }
  }
  if constexpr (requires {
                  sums.front().row.path;
                  sums.front().row.wall;
                }) {
    if (table.by == ReportBy::kPath) {
      Sort(sums);  // those of one path
      SortPaths(sums);
    } else {
      Sort(sums);
    }
  } else {
    Sort(sums);
  }
  std::vector<Row> summed;
  summed.reserve(sums.size());
  for (RowSum<Row>& sum : sums) summed.push_back(std::move(sum.row));
  return summed;
}

}  // namespace

absl::Status CheckGroups(const std::string& field, const Report& report,
                         ReportBy table) {
  if (table == ReportBy::kDefault && field != "thread" && IsOfOwner(field)) {
    return absl::OkStatus();
  }
  std::vector<std::string> able, names;
  bool can = false;
  VisitTables(report, [&](const auto& one, const auto& columns, const auto&) {
    if (one.by == table) names = NamesIn(columns);
    if (!Groups(field, columns)) return;
    able.emplace_back(one.option);
    can |= one.by == table;
  });
  if (can) return absl::OkStatus();
  std::string message = absl::StrFormat(
      "--group-by %s: %s", base::EscapeName(field),
      table == ReportBy::kDefault
          ? "without --by it takes process, comm, user, cgroup or host"
          : absl::StrFormat("rows of %s have none", TableName(table)));
  if (!able.empty()) {
    message += "; --by " + absl::StrJoin(able, ", ") + " have";
  } else if (!names.empty()) {
    for (const char* owner : {"process", "user", "cgroup"}) {
      names.emplace_back(owner);
    }
    const std::string near(base::NearestName(field, names));
    if (!near.empty()) message += "; did you mean `" + near + "`?";
    message +=
        "; they are joined by " + base::EscapeName(absl::StrJoin(names, ", "));
    std::vector<std::string> values;
    for (const auto& [name, of] : report.value_names) {
      values.push_back(name);
    }
    if (table == ReportBy::kSegment || table == ReportBy::kPath ||
        table == ReportBy::kHook) {
      message += ", or values of hooks: " +
                 base::EscapeName(absl::StrJoin(values, ", "));
    }
  }
  return absl::InvalidArgumentError(message);
}

void SumRows(const std::string& field, ReportBy by, Report& report,
             RowSelection* selection) {
  Owners owners;
  if (IsOfProcess(field)) {
    for (const ProcessRow& row : report.processes) owners[row.index] = row;
  }
  VisitTables(report, [&](const auto& table, const auto& columns, auto& rows) {
    using Row = typename std::decay_t<decltype(table)>::Row;
    if constexpr (kHasOwner<Row>) {
      if (by != ReportBy::kDefault && by != table.by) return;
      if (!IsOfOwner(field) && !Groups(field, columns)) return;
      const bool applies =
          selection != nullptr && selection->Of(table.by).applies();
      rows =
          SumsOf(field, table, report, owners,
                 SelectedRows(rows, applies ? selection : nullptr, table.by));
      if (applies) selection->tables[table.by].summed = true;
    }
  });
  report.rows_by = field;
}

}  // namespace countrace::rmap::where
