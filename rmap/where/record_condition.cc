#include "rmap/where/record_condition.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "rmap/values/call_values.h"
#include "rmap/where/condition_truth.h"

namespace countrace::rmap::where {
namespace {

// A number as such; a pointer as its address.
struct CellMaker {
  Cell operator()(std::monostate) const { return {}; }
  Cell operator()(std::uint64_t value) const { return value; }
  Cell operator()(std::int64_t value) const { return value; }
  Cell operator()(double value) const { return value; }
  Cell operator()(logformat::PointerValue value) const { return value.address; }
  Cell operator()(std::string_view text) const { return std::string(text); }
};

absl::Status NoSuchValue(const WhereExpression& where, const Operand& field,
                         const logformat::TraceInfo& info) {
  if (field.text.starts_with(kLevelValue)) {
    return WhereError(
        where, field.offset,
        absl::StrFormat(
            "whether a level is up is no value of a record or of a single "
            "call: `report --by segment --where '%s'` chooses calls by it, "
            "`script --hook '*:%s'` has its own records",
            base::EscapeName(field.text),
            base::EscapeName(
                field.text.substr(std::string_view(kLevelValue).size()))));
  }
  std::vector<std::string> names;
  for (const auto& [name, of] : logformat::ValueNames(info, /*exits=*/true)) {
    names.push_back(name);
  }
  std::string message = absl::StrFormat("no hook of the trace has a value `%s`",
                                        base::EscapeName(field.text));
  const std::string near(base::NearestName(field.text, names));
  if (!near.empty()) message += "; did you mean `" + near + "`?";
  constexpr std::size_t kMost = 40;
  const bool many = names.size() > kMost;
  if (many) names.resize(kMost);
  if (!names.empty()) {
    message += "; there are " + absl::StrJoin(names, ", ");
    if (many) message += ", ...";
  }
  return WhereError(where, field.offset, message);
}

}  // namespace

absl::StatusOr<RecordCondition> RecordCondition::Bind(
    WhereExpression where, const logformat::TraceInfo& info) {
  RecordCondition condition(std::move(where));
  for (const WhereStep& step : condition.where_.steps) {
    for (const Operand* side : {&step.left, &step.right}) {
      if (step.kind != WhereStep::Kind::kCompare ||
          side->kind != Operand::Kind::kField) {
        continue;
      }
      logformat::NamedValue value(info, {side->text});
      if (!value.any()) return NoSuchValue(condition.where_, *side, info);
      condition.fields_.emplace_back(side->text, std::move(value));
    }
  }
  return condition;
}

void RecordCondition::Read(const logformat::EventRecord& record,
                           Values& values) const {
  values.resize(fields_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const logformat::NamedValue& field = fields_[i].second;
    const auto* before = std::get_if<std::string>(&values[i].cell);
    const bool unread = before != nullptr && *before == logformat::kUnreadable;
    if (values[i].cell.index() != 0 && !unread) continue;
    Cell cell = std::visit(CellMaker(), field.Of(record));
    // An exit that adds nothing.
    const auto* text = std::get_if<std::string>(&cell);
    if (cell.index() == 0 || (unread && text != nullptr && text->empty())) {
      continue;
    }
    values[i] = {std::move(cell), field.NameOf(record)};
  }
}

bool RecordCondition::Holds(const Values& values) const {
  return where::Holds(where_, [&](std::size_t i, bool left) -> Cell {
    const WhereStep& step = where_.steps[i];
    const std::string& field = (left ? step.left : step.right).text;
    const Operand& other = left ? step.right : step.left;
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (fields_[at].first != field) continue;
      const bool by_name =
          IsMatch(step.comparison) || other.kind == Operand::Kind::kText;
      if (by_name && !values[at].name.empty()) return values[at].name;
      return values[at].cell;
    }
    return {};
  });
}

}  // namespace countrace::rmap::where
