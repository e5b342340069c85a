// The fields of `--where`: the columns of each table, by their names in JSON
// and CSV.
#ifndef COUNTRACE_RMAP_WHERE_ROW_FIELDS_H_
#define COUNTRACE_RMAP_WHERE_ROW_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmap/report/report_render.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// kNamed: numbers that have names. A text is compared with the name.
enum class FieldType : std::uint8_t { kText, kNumber, kTime, kNamed };
const char* FieldTypeName(FieldType type);

struct Field {
  std::string name;  // "wall_ns.incl"
  FieldType type{};
};

struct TableFields {
  ReportBy table{};
  std::vector<Field> fields;  // in the order of the table's columns
};

// The fields of a report, which may have no rows: its events determine the
// counts.
std::vector<TableFields> FieldsOf(const Report& report);

// Index of a field by its name. A pair's ".incl" and an event count's "counts."
// may be left out.
std::optional<std::size_t> FindField(const TableFields& table,
                                     std::string_view name);

// The field whose name, or short name, is most like `name`; "": none is.
std::string NearestField(const std::vector<TableFields>& tables,
                         std::string_view name);

// Paragraphs of at most 78 columns: every name, table by table.
std::string ListFields(const std::vector<TableFields>& tables);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_FIELDS_H_
