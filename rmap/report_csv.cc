#include <type_traits>

#include "absl/strings/str_format.h"
#include "rmap/name_escape.h"
#include "rmap/report_columns.h"
#include "rmap/report_views.h"

namespace countrace::rmap {

namespace {

// RFC 4180, section 2: quoted if it holds a comma, a quote or a line break;
// quotes doubled.
std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string ToText(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Value, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<Value, double>) {
          return absl::StrFormat("%.3f", value);
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return EscapeName(value);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          std::string out;
          for (const std::string& name : value) {
            if (!out.empty()) out += " > ";
            out += EscapeName(name);
          }
          return out;
        } else {
          return std::to_string(value);
        }
      },
      cell);
}

template <typename Row>
std::string Table(const std::vector<Column<Row>>& columns,
                  const std::vector<Row>& rows) {
  std::string out;
  for (const Column<Row>& column : columns) {
    std::string name;
    for (const std::string& part : column.name) {
      if (!name.empty()) name += '.';
      name += part;
    }
    if (&column != columns.data()) out += ',';
    out += Field(EscapeName(name));
  }
  out += "\r\n";
  for (const Row& row : rows) {
    for (const Column<Row>& column : columns) {
      if (&column != columns.data()) out += ',';
      out += Field(ToText(column.value(row)));
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace

std::string RenderCsv(const Report& report, ReportBy by) {
  switch (by) {
    case ReportBy::kDefault:
    case ReportBy::kProcess:
      return Table(ProcessColumns(report), report.processes);
    case ReportBy::kThread:
      return Table(ThreadColumns(report), report.threads);
    case ReportBy::kSegment:
      return Table(SegmentColumns(report, false), report.segments);
    case ReportBy::kPath:
      return Table(SegmentColumns(report, true), report.segment_paths);
    case ReportBy::kCpu:
      return Table(CpuColumns(report), report.cpu_rows);
    case ReportBy::kHook:
      return Table(HookColumns(), report.hooks);
  }
  return "";
}

}  // namespace countrace::rmap
