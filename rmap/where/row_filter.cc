#include "rmap/where/row_filter.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/columns/report_tables.h"
#include "rmap/where/number_cell.h"
#include "rmap/where/row_fields.h"
#include "rmap/where/selected_shares.h"

namespace countrace::rmap::where {
namespace {

// The columns of one table that a step compares.
struct BoundStep {
  std::optional<std::size_t> left, right;
};

struct Binding {
  std::vector<std::string> missing;
  std::vector<BoundStep>
      steps;  // as in WhereExpression::steps, if no field is missing
};

bool IsOrder(Comparison comparison) {
  return comparison >= Comparison::kLess &&
         comparison <= Comparison::kGreaterOrEqual;
}
bool IsMatch(Comparison comparison) {
  return comparison == Comparison::kMatches ||
         comparison == Comparison::kMatchesNot;
}

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

  absl::Status CheckTypes(const WhereStep& step) const {
    const auto left = TypeOf(step.left);
    if (!left.ok()) return left.status();
    const auto right = TypeOf(step.right);
    if (!right.ok()) return right.status();
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

// One side of a comparison in one row: a text, a number, or unknown.
struct Value {
  std::optional<std::string> text;
  std::optional<NumberCell> number;
};

Value ValueOf(const Cell& cell) {
  Value value;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    value.text = *text;
  } else if (const auto* path = std::get_if<std::vector<std::string>>(&cell)) {
    value.text.emplace();
    for (const std::string& name : *path) {
      *value.text += (value.text->empty() ? "" : " > ") + name;
    }
  } else if (const auto* flag = std::get_if<bool>(&cell)) {
    value.number = std::uint64_t{*flag ? 1u : 0u};
  } else if (const auto* count = std::get_if<std::uint64_t>(&cell)) {
    value.number = *count;
  } else if (const auto* amount = std::get_if<std::int64_t>(&cell)) {
    value.number = *amount;
  } else if (const auto* estimate = std::get_if<double>(&cell)) {
    value.number = *estimate;
  }
  return value;
}

bool Holds(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessOrEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterOrEqual:
      return order >= 0;
    case Comparison::kMatches:
    case Comparison::kMatchesNot:
      break;
  }
  return false;
}

using Truth = std::optional<bool>;  // absent: neither true nor false

std::partial_ordering Reverse(std::partial_ordering order) {
  return order < 0   ? std::partial_ordering::greater
         : order > 0 ? std::partial_ordering::less
                     : order;
}

// `left`, `right`: values of the row, where the step names a field.
Truth Compared(const WhereStep& step, const Value& left, const Value& right) {
  const bool left_is_field = step.left.kind == Operand::Kind::kField;
  const bool right_is_field = step.right.kind == Operand::Kind::kField;
  const std::optional<std::string> a =
      left_is_field ? left.text : std::optional(step.left.text);
  if (IsMatch(step.comparison)) {
    if (!a) return std::nullopt;
    return step.pattern.Finds(*a) == (step.comparison == Comparison::kMatches);
  }
  const auto known = [](const Value& value) {
    return value.text || value.number;
  };
  if ((left_is_field && !known(left)) || (right_is_field && !known(right))) {
    return std::nullopt;
  }
  if (left.text || right.text) {
    const std::optional<std::string> b =
        right_is_field ? right.text : std::optional(step.right.text);
    return (a == b) == (step.comparison == Comparison::kEqual);
  }
  std::partial_ordering order = std::partial_ordering::unordered;
  if (left_is_field && right_is_field) {
    order = Compare(*left.number, *right.number);
  } else if (left_is_field) {
    order = Compare(*left.number, step.right.number);
  } else {
    order = Reverse(Compare(*right.number, step.left.number));
  }
  return Holds(step.comparison, order);
}

Truth And(Truth a, Truth b) {
  if ((a && !*a) || (b && !*b)) return false;
  if (!a || !b) return std::nullopt;
  return true;
}
Truth Or(Truth a, Truth b) {
  if ((a && *a) || (b && *b)) return true;
  if (!a || !b) return std::nullopt;
  return false;
}

template <typename Row>
bool IsSelected(const WhereExpression& where, const Binding& binding,
                const std::vector<Column<Row>>& columns, const Row& row) {
  std::vector<Truth> stack;
  const auto value = [&](const std::optional<std::size_t>& column) {
    return column ? ValueOf(columns[*column].value(row)) : Value();
  };
  for (std::size_t i = 0; i < where.steps.size(); ++i) {
    const WhereStep& step = where.steps[i];
    if (step.kind == WhereStep::Kind::kCompare) {
      const BoundStep& bound = binding.steps[i];
      stack.push_back(Compared(step, value(bound.left), value(bound.right)));
      continue;
    }
    if (step.kind == WhereStep::Kind::kNot) {
      if (stack.back()) stack.back() = !*stack.back();
      continue;
    }
    const Truth b = stack.back();
    stack.pop_back();
    stack.back() = step.kind == WhereStep::Kind::kAnd ? And(stack.back(), b)
                                                      : Or(stack.back(), b);
  }
  return stack.empty() || stack.back().value_or(false);
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
