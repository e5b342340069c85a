#include "rmap/export/report_tables_export.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <type_traits>
#include <utility>

#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

constexpr char kListSeparator[] = " > ";

// A cell as a value; `texts` keeps what it points to.
Value ValueOf(const Cell& cell, std::deque<std::string>& texts) {
  return std::visit(
      [&](const auto& value) -> Value {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<Type, bool>) {
          return std::int64_t{value};
        } else if constexpr (std::is_same_v<Type, std::uint64_t>) {
          return Integer(value);
        } else if constexpr (std::is_same_v<Type, std::string>) {
          return std::string_view(texts.emplace_back(value));
        } else if constexpr (std::is_same_v<Type, std::vector<std::string>>) {
          std::string& text = texts.emplace_back();
          for (const std::string& part : value) {
            if (!text.empty()) text += kListSeparator;
            text += part;
          }
          return std::string_view(text);
        } else {
          return value;
        }
      },
      cell);
}

ValueType TypeOf(Unit unit, bool is_real) {
  if (unit == Unit::kNone || unit == Unit::kQuality) return ValueType::kText;
  return is_real ? ValueType::kReal : ValueType::kInteger;
}

template <typename Row>
constexpr bool kHasBounds = requires(const Row& row) {
  row.bounds;
};
// True of threads and processes: what other rows mean by `thread`, `process`.
template <typename Row>
constexpr bool kHasIndex = requires(const Row& row) {
  row.index;
};
template <typename Row>
constexpr bool kHasProcess = requires(const Row& row) {
  row.process;
};

// The columns of one table, and the values of its rows.
template <typename Row>
class ReportTable {
 public:
  ReportTable(std::string name, std::string meaning, const Report& report,
              std::vector<Column<Row>> columns)
      : columns_(std::move(columns)), numbers_(columns_.size()) {
    schema_.name = std::move(name);
    schema_.meaning = std::move(meaning);
    AddKeys();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column<Row>& column = columns_[i];
      const std::string full = FullName(column);
      const ValueType type = TypeOf(column.unit, column.is_real);
      schema_.columns.push_back({full, type, column.unit, column.meaning});
      if constexpr (kHasBounds<Row>) {
        numbers_[i] = NumberNamed(report.events, full);
        if (!numbers_[i]) continue;
        AddKey(full + ".lo", type, column.unit, "Lower limit of that.");
        AddKey(full + ".hi", type, column.unit,
               "Upper limit; absent: there is none.");
      }
    }
    if constexpr (kHasBounds<Row>) {
      AddKey("qualities", ValueType::kText, Unit::kQuality,
             "Why numbers are not exact, all reasons; absent: they are.");
    }
  }

  const TableSchema& schema() const { return schema_; }

  void Write(const std::vector<Row>& rows, RowWriter& writer) {
    std::vector<Value> values;
    std::deque<std::string> texts;
    for (const Row& row : rows) {
      values.clear();
      texts.clear();
      if constexpr (std::is_same_v<Row, ThreadRow>) {
        values.push_back(Integer(static_cast<std::uint64_t>(row.index)));
      }
      if constexpr (kHasProcess<Row>) {
        values.push_back(Integer(static_cast<std::uint64_t>(row.process)));
      } else if constexpr (kHasIndex<Row>) {
        values.push_back(Integer(static_cast<std::uint64_t>(row.index)));
      }
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        values.push_back(ValueOf(columns_[i].value(row), texts));
        if constexpr (kHasBounds<Row>) {
          if (numbers_[i]) AddLimits(row.bounds.Of(*numbers_[i]), values);
        }
      }
      if constexpr (kHasBounds<Row>) {
        std::string& names = texts.emplace_back();
        for (const std::string& name : row.qualities.Names()) {
          names += (names.empty() ? "" : ",") + name;
        }
        values.push_back(TextOrAbsent(names));
      }
      writer.Write(values);
    }
  }

 private:
  void AddKey(std::string name, ValueType type, Unit unit,
              const char* meaning) {
    schema_.columns.push_back(
        {std::move(name), type, unit, meaning, /*of_report=*/false});
  }
  void AddKeys() {
    if constexpr (std::is_same_v<Row, ThreadRow>) {
      AddKey("thread", ValueType::kInteger, Unit::kId,
             "What other tables mean by it: tids are used again.");
      schema_.indexes.push_back({"thread"});
    }
    if constexpr (kHasProcess<Row>) {
      AddKey("process", ValueType::kInteger, Unit::kId,
             "Its row in processes (pids are used again).");
      schema_.indexes.push_back({"process"});
    } else if constexpr (kHasIndex<Row>) {
      AddKey("process", ValueType::kInteger, Unit::kId,
             "What other tables mean by it: pids are used again.");
      schema_.indexes.push_back({"process"});
    }
  }
  // Adds those of the number that was just added; an exact one is both.
  static void AddLimits(const std::optional<Bounds>& bounds,
                        std::vector<Value>& values) {
    const Value exact = values.back();
    if (!bounds) {
      values.insert(values.end(), {exact, exact});
      return;
    }
    values.push_back(Integer(bounds->lo));
    values.push_back(bounds->hi == Bounds::kNone ? Value()
                                                 : Integer(bounds->hi));
  }

  std::vector<Column<Row>> columns_;
  // By column; absent: its numbers have no limits.
  std::vector<std::optional<Number>> numbers_;
  TableSchema schema_;
};

constexpr char kBooks[] = "books";

ReportTable<BooksRow> BooksTable(const Report& report) {
  return {kBooks, "Where the counts of each event went.", report,
          BooksColumns()};
}

// Calls visit(table, rows, by) for each table, kDefault: the books; `recorded`:
// of which there were records.
template <typename Visit>
void VisitExported(const Report& report, bool recorded, const Visit& visit) {
  VisitTables(
      report, [&](const auto& table, const auto& columns, const auto& rows) {
        using Row = typename std::decay_t<decltype(table)>::Row;
        if (recorded && !IsRecorded(table, report)) return;
        visit(ReportTable<Row>(table.name, table.meaning, report, columns),
              rows, table.by);
      });
  visit(BooksTable(report), BooksRows(report), ReportBy::kDefault);
}

}  // namespace

std::vector<TableSchema> ReportTablesOf(const Report& report, bool recorded) {
  std::vector<TableSchema> schemas;
  VisitExported(report, recorded,
                [&](const auto& table, const auto&, ReportBy) {
                  schemas.push_back(table.schema());
                });
  return schemas;
}

void WriteReportTables(const Report& report, const RowSelection* selection,
                       TableWriter& writer) {
  VisitExported(report, /*recorded=*/true,
                [&](auto table, const auto& rows, ReportBy by) {
                  if (!writer.Takes(table.schema().name)) return;
                  std::decay_t<decltype(rows)> kept;
                  const bool all = by == ReportBy::kDefault;
                  table.Write(
                      SelectedRows(rows, all ? nullptr : selection, by, kept),
                      *writer.Begin(table.schema()));
                });
}

}  // namespace countrace::rmap
