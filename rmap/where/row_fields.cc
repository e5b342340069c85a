#include "rmap/where/row_fields.h"

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/nearest_name.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap::where {
namespace {

FieldType TypeOf(Unit unit) {
  switch (unit) {
    case Unit::kNone:
    case Unit::kQuality:
      return FieldType::kText;
    case Unit::kNanoseconds:
      return FieldType::kTime;
    case Unit::kId:
    case Unit::kCount:
      break;
  }
  return FieldType::kNumber;
}

constexpr std::size_t kListWidth = 78;

// Larger groups (of errnos, more than a hundred) show their first names only.
constexpr std::size_t kMaxOfGroup = 20, kFirstOfGroup = 3;

// The name up to its last dot. Names with the same group are listed together:
// "wall_ns.(incl, excl)".
std::string_view GroupOf(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return std::string_view(name).substr(0, dot == name.npos ? 0 : dot + 1);
}

std::vector<std::string> ListNames(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size();) {
    const std::string_view group = GroupOf(fields[i].name);
    std::size_t end = i + 1;
    while (end < fields.size() && !group.empty() &&
           GroupOf(fields[end].name) == group) {
      ++end;
    }
    if (end - i == 1 || group == "counts.") {
      for (; i < end; ++i) names.push_back(base::EscapeName(fields[i].name));
      continue;
    }
    const std::size_t shown = end - i > kMaxOfGroup ? i + kFirstOfGroup : end;
    const std::size_t begin = i;
    for (; i < shown; ++i) {
      std::string name = base::EscapeName(fields[i].name.substr(group.size()));
      if (i == begin) name = base::EscapeName(group) + "(" + name;
      if (i + 1 == end) name += ")";
      names.push_back(std::move(name));
    }
    if (shown != end) names.emplace_back("...)");
    i = end;
  }
  return names;
}

}  // namespace

const char* FieldTypeName(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "a text";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kTime:
      return "a time";
    case FieldType::kNamed:
      return "a number with names";
  }
  return "";
}

std::vector<TableFields> FieldsOf(const Report& report) {
  std::vector<TableFields> tables;
  VisitTables(report, [&](const auto& table, const auto& columns, const auto&) {
    TableFields& fields = tables.emplace_back();
    fields.table = table.by;
    for (const auto& column : columns) {
      const std::string name = FullName(column);
      const auto value = report.value_names.find(name);
      const bool named =
          name == report.wanted.value && column.unit == Unit::kNone &&
          value != report.value_names.end() && !value->second.numbers.empty();
      fields.fields.push_back(
          {name, named ? FieldType::kNamed : TypeOf(column.unit)});
    }
  });
  return tables;
}

std::optional<std::size_t> FindField(const TableFields& table,
                                     std::string_view name) {
  const std::string plain(name);
  for (const std::string& wanted : {plain, plain + ".incl", "counts." + plain,
                                    "counts." + plain + ".incl"}) {
    for (std::size_t i = 0; i < table.fields.size(); ++i) {
      if (table.fields[i].name == wanted) return i;
    }
  }
  return std::nullopt;
}

std::string NearestField(const std::vector<TableFields>& tables,
                         std::string_view name) {
  constexpr std::string_view kPrefix = "counts.", kSuffix = ".incl";
  std::vector<std::string> names;
  for (const TableFields& table : tables) {
    for (const Field& field : table.fields) {
      names.push_back(field.name);
      if (field.name.starts_with(kPrefix)) {
        names.push_back(field.name.substr(kPrefix.size()));
      }
      if (field.name.ends_with(kSuffix)) {
        names.push_back(
            field.name.substr(0, field.name.size() - kSuffix.size()));
      }
    }
  }
  return std::string(base::NearestName(name, names));
}

std::string ListFields(const std::vector<TableFields>& tables) {
  std::string out;
  for (const TableFields& table : tables) {
    std::string line = absl::StrFormat("fields of %s:", TableName(table.table));
    const char* separator = " ";
    for (const std::string& name : ListNames(table.fields)) {
      if (line.size() + 2 + base::DisplayColumns(name) > kListWidth) {
        out += line + ",\n";
        line = "   ";
        separator = " ";
      }
      line += separator + name;
      separator = ", ";
    }
    out += line + "\n";
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace countrace::rmap::where
