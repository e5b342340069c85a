#include "rmap/report/bounds_text.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

using Align = base::TextTable::Align;

std::string RowName(const ProcessRow& row) {
  return absl::StrFormat("%d %s", row.pid, base::EscapeName(row.comm));
}
std::string RowName(const ThreadRow& row) {
  return absl::StrFormat("%d %s", row.tid, base::EscapeName(row.comm));
}
std::string RowName(const CpuRow& row) {
  return absl::StrFormat("cpu %d", row.cpu);
}
std::string JoinedPath(const std::vector<std::string>& path) {
  return absl::StrJoin(path, " > ", [](std::string* out, const auto& name) {
    out->append(base::EscapeName(name));
  });
}
std::string RowName(const SegmentRow& row) {
  const std::string path = JoinedPath(row.path);
  return absl::StrFormat("%d %s", row.pid,
                         path.empty() ? base::EscapeName(row.segment) : path);
}

std::string Named(const std::string& comm, std::int32_t pid, std::int32_t tid) {
  std::string name;
  for (const std::int32_t id : {pid, tid}) {
    if (id != 0) name += std::to_string(id) + " ";
  }
  return name + base::EscapeName(comm);
}

std::string RowName(const WakerRow& row) {
  std::string waker = WakerKindName(row.waker.kind);
  if (row.waker.kind == WakerKind::kThread) {
    waker = Named(row.waker.comm, row.waker.pid.value_or(0),
                  row.waker.tid.value_or(0));
  }
  if (!row.waker.segment.empty()) {
    waker += " in " + base::EscapeName(row.waker.segment);
  }
  return absl::StrFormat("%s%s%s, by %s", Named(row.comm, row.pid, row.tid),
                         row.path.empty() ? "" : " in ", JoinedPath(row.path),
                         waker);
}

std::string RowName(const PreemptorRow& row) {
  const PreemptorRow::By& by = row.preemptor;
  return Named(row.comm, row.pid, row.tid) + ", by " +
         (by.kind == PreemptorKind::kThread
              ? Named(by.comm, by.pid.value_or(0), by.tid.value_or(0))
              : PreemptorKindName(by.kind));
}

std::string RowName(const SystemCallRow& row) {
  return base::EscapeName(row.syscall);
}

std::string Quantity(std::uint64_t value, Unit unit) {
  if (value == Bounds::kNone) return "none";
  return unit == Unit::kNanoseconds
             ? base::FormatNanoseconds(static_cast<double>(value))
             : base::FormatCount(value);
}

std::string Value(const Cell& cell, Unit unit) {
  const auto* value = std::get_if<std::uint64_t>(&cell);
  return value == nullptr ? "-" : Quantity(*value, unit);
}

template <typename Row>
std::string Table(const Report& report, ReportBy by,
                  const std::vector<Column<Row>>& columns,
                  const std::vector<Row>& rows, const RenderOptions& options) {
  base::TextTable table;
  table.AddColumn("number", Align::kLeft);
  for (const char* title : {"shown", "at least", "at most"}) {
    table.AddColumn(title, Align::kRight);
  }
  std::size_t shown = 0;
  bool any = false;
  for (const Row& row : rows) {
    if (options.max_rows != 0 && shown++ == options.max_rows) break;
    if (row.bounds.empty()) continue;
    any = true;
    table.AddHeading(RowName(row));
    for (const auto& [number, bounds] : row.bounds.entries()) {
      const std::string name = NumberName(report.events, number);
      const auto column =
          std::find_if(columns.begin(), columns.end(),
                       [&](const auto& c) { return FullName(c) == name; });
      if (column == columns.end()) continue;
      table.AddRow({base::EscapeName(name),
                    Value(column->value(row), column->unit),
                    Quantity(bounds.lo, column->unit),
                    Quantity(bounds.hi, column->unit)});
    }
  }
  if (!any) return "";
  return absl::StrFormat("\nBOUNDS of %s\n%s", TableName(by),
                         table.Render(options.width, options.color));
}

}  // namespace

std::string BoundsText(const Report& report,
                       const std::vector<ReportBy>& tables,
                       const RenderOptions& options) {
  std::string out;
  VisitTables(report, [&](ReportBy by, const auto& columns, const auto& rows) {
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    if constexpr (requires(const Row& row) { row.bounds; }) {
      if (std::find(tables.begin(), tables.end(), by) == tables.end()) return;
      out += Table(report, by, columns,
                   SelectedRows(rows, options.selection, by), options);
    }
  });
  return out;
}

}  // namespace countrace::rmap
