#include "rmap/where/row_filter.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/columns/report_tables.h"
#include "rmap/where/condition_truth.h"
#include "rmap/where/row_fields.h"
#include "rmap/where/selected_shares.h"

namespace countrace::rmap::where {
namespace {

// The columns of one table that a step compares.
struct BoundStep {
  std::optional<std::size_t> left, right;
  bool by_number = false;  // not by the names of numbers
};

struct Binding {
  std::vector<std::string> missing;
  std::vector<BoundStep>
      steps;  // as in WhereExpression::steps, if no field is missing
};

class Binder {
 public:
  Binder(const WhereExpression& where, const Report& report)
      : where_(where), tables_(FieldsOf(report)) {}

  // One binding for each of tables().
  absl::StatusOr<std::vector<Binding>> Bind(ReportBy wanted) {
    for (const WhereStep& step : where_.steps) {
      if (step.kind != WhereStep::Kind::kCompare) continue;
      const absl::Status status = CheckTypes(step);
      if (!status.ok()) return status;
    }
    std::vector<Binding> bindings;
    for (const TableFields& table : tables_) {
      bindings.push_back(BindTo(table));
      if (table.table == wanted && !bindings.back().missing.empty()) {
        return Lacks(table, bindings.back().missing.front());
      }
    }
    if (std::all_of(bindings.begin(), bindings.end(),
                    [](const Binding& b) { return !b.missing.empty(); })) {
      return NowhereTogether();
    }
    return bindings;
  }

  const std::vector<TableFields>& tables() const { return tables_; }

 private:
  absl::Status Error(std::size_t offset, std::string_view message) const {
    return WhereError(where_, offset, message);
  }
  absl::Status ErrorWithFields(std::size_t offset, std::string_view message,
                               const std::vector<TableFields>& tables) const {
    const absl::Status status = Error(offset, message);
    return absl::InvalidArgumentError(
        absl::StrFormat("%s\n%s", status.message(), ListFields(tables)));
  }

  const Operand& OperandOf(const std::string& field) const {
    for (const WhereStep& step : where_.steps) {
      for (const Operand* operand : {&step.left, &step.right}) {
        if (step.kind == WhereStep::Kind::kCompare &&
            operand->kind == Operand::Kind::kField && operand->text == field) {
          return *operand;
        }
      }
    }
    return where_.steps.front().left;
  }

  absl::Status Lacks(const TableFields& table, const std::string& field) const {
    return ErrorWithFields(
        OperandOf(field).offset,
        absl::StrFormat("rows of %s have no field `%s`", TableName(table.table),
                        base::EscapeName(field)),
        {table});
  }

  // The type of an operand; a field has the same type in every table.
  absl::StatusOr<FieldType> TypeOf(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::kText:
        return FieldType::kText;
      case Operand::Kind::kNumber:
        return operand.number.is_time ? FieldType::kTime : FieldType::kNumber;
      case Operand::Kind::kField:
        break;
    }
    for (const TableFields& table : tables_) {
      if (const auto found = FindField(table, operand.text)) {
        return table.fields[*found].type;
      }
    }
    return Unknown(operand);
  }

  absl::Status Unknown(const Operand& operand) const {
    const std::string nearest = NearestField(tables_, operand.text);
    std::string message =
        absl::StrFormat("unknown field `%s`", base::EscapeName(operand.text));
    if (!nearest.empty()) {
      message +=
          absl::StrFormat("; did you mean `%s`?", base::EscapeName(nearest));
    } else {
      message += "; a text stands in quotes";
    }
    return ErrorWithFields(operand.offset, message, tables_);
  }

  // The type by which a side is compared, beside one of `other`.
  static FieldType Settled(FieldType type, FieldType other) {
    if (type != FieldType::kNamed) return type;
    return other == FieldType::kText || other == FieldType::kNamed
               ? FieldType::kText
               : FieldType::kNumber;
  }

  absl::Status CheckTypes(const WhereStep& step) const {
    auto left = TypeOf(step.left);
    if (!left.ok()) return left.status();
    auto right = TypeOf(step.right);
    if (!right.ok()) return right.status();
    const FieldType given = *left;
    left = Settled(given, *right);
    right = Settled(*right, given);
    const char* const text = ComparisonText(step.comparison);
    if (IsMatch(step.comparison)) {
      if (*left == FieldType::kText) return absl::OkStatus();
      return Error(step.offset,
                   absl::StrFormat("%s looks for a pattern in a text; `%s` is "
                                   "%s",
                                   text, base::EscapeName(step.left.text),
                                   FieldTypeName(*left)));
    }
    const bool texts = *left == FieldType::kText;
    if (texts != (*right == FieldType::kText)) {
      return Error(step.offset, absl::StrFormat("cannot compare %s with %s",
                                                FieldTypeName(*left),
                                                FieldTypeName(*right)));
    }
    if (texts && IsOrder(step.comparison)) {
      return Error(
          step.offset,
          absl::StrFormat("texts have no order: %s takes numbers", text));
    }
    // A number without a unit has the unit of the field: ns for a time.
    const bool plain = (step.left.kind == Operand::Kind::kNumber &&
                        *left == FieldType::kNumber) ||
                       (step.right.kind == Operand::Kind::kNumber &&
                        *right == FieldType::kNumber);
    if (*left != *right && !plain) {
      return Error(step.offset, absl::StrFormat("cannot compare %s with %s",
                                                FieldTypeName(*left),
                                                FieldTypeName(*right)));
    }
    return absl::OkStatus();
  }

  Binding BindTo(const TableFields& table) const {
    Binding binding;
    const auto find = [&](const Operand& operand) {
      std::optional<std::size_t> column;
      if (operand.kind != Operand::Kind::kField) return column;
      column = FindField(table, operand.text);
      const bool known =
          std::find(binding.missing.begin(), binding.missing.end(),
                    operand.text) != binding.missing.end();
      if (!column && !known) binding.missing.push_back(operand.text);
      return column;
    };
    for (const WhereStep& step : where_.steps) {
      BoundStep bound;
      if (step.kind == WhereStep::Kind::kCompare) {
        bound.left = find(step.left);
        bound.right = find(step.right);
        const auto left = TypeOf(step.left), right = TypeOf(step.right);
        bound.by_number = left.ok() && right.ok() &&
                          Settled(*left, *right) != FieldType::kText;
      }
      binding.steps.push_back(bound);
    }
    return binding;
  }

  absl::Status NowhereTogether() const {
    std::string message = "no row has all of these fields:";
    std::set<std::string> named;
    std::size_t last = 0;
    for (const WhereStep& step : where_.steps) {
      if (step.kind != WhereStep::Kind::kCompare) continue;
      for (const Operand* operand : {&step.left, &step.right}) {
        if (operand->kind != Operand::Kind::kField ||
            !named.insert(operand->text).second) {
          continue;
        }
        last = operand->offset;
        std::string places;
        for (const TableFields& table : tables_) {
          if (!FindField(table, operand->text)) continue;
          places += (places.empty() ? "" : ", ");
          places += TableName(table.table);
        }
        message +=
            absl::StrFormat("%s `%s` is of %s", named.size() == 1 ? "" : ";",
                            base::EscapeName(operand->text), places);
      }
    }
    return Error(last, message);
  }

  const WhereExpression& where_;
  std::vector<TableFields> tables_;
};

template <typename Row>
bool IsSelected(const WhereExpression& where, const Binding& binding,
                const std::vector<Column<Row>>& columns, const Row& row) {
  return Holds(where, [&](std::size_t step, bool left) -> Cell {
    const BoundStep& bound = binding.steps[step];
    const auto column = left ? bound.left : bound.right;
    if (!column) return Cell();
    Cell cell = columns[*column].value(row);
    if constexpr (requires { row.grouped.argument; }) {
      if (bound.by_number && std::holds_alternative<std::string>(cell)) {
        return IntegerCell(*row.grouped.argument);
      }
    }
    return cell;
  });
}

}  // namespace

absl::Status CheckWhere(const WhereExpression& where, const Report& report,
                        ReportBy table) {
  return Binder(where, report).Bind(table).status();
}

absl::StatusOr<RowSelection> SelectRows(const WhereExpression& where,
                                        const Report& report,
                                        const OwnerGlobs& owners) {
  Binder binder(where, report);
  auto bindings = binder.Bind(ReportBy::kDefault);
  if (!bindings.ok()) return bindings.status();
  const OwnerFilter filter(owners, report);
  RowSelection selection;
  selection.expression = where.text;
  if (owners.given()) {
    if (!where.text.empty()) selection.expression += " ";
    selection.expression += owners.Text();
  }
  auto binding =
      bindings->begin();  // in the order of VisitTables(), like binder.tables()
  VisitTables(
      report, [&](const auto& table, const auto& columns, const auto& rows) {
        using Row = typename std::decay_t<decltype(table)>::Row;
        TableSelection& selected = selection.tables[table.by];
        selected.missing = binding->missing;
        const std::string lacks = filter.MissingIn<Row>();
        if (!lacks.empty()) selected.missing.push_back(lacks);
        if (selected.applies()) {
          for (const Row& row : rows) {
            const bool chosen =
                filter.Has(row) && IsSelected(where, *binding, columns, row);
            selected.rows.push_back(chosen);
            selected.selected += chosen ? 1 : 0;
          }
          AddShares(report, table, columns, rows, selected);
        }
        ++binding;
      });
  return selection;
}

}  // namespace countrace::rmap::where
