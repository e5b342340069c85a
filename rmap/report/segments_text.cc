#include "rmap/report/segments_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/owner_text.h"

namespace countrace::rmap {
namespace {

using Align = base::TextTable::Align;

// Columns of the two segment tables; the name is last, because it may be long
// and, by path, indented.
std::vector<const Column<SegmentRow>*> AddSegmentColumns(
    const TextTables& tables, const std::vector<Column<SegmentRow>>& columns,
    base::TextTable& table) {
  const Report& report = tables.report();
  std::vector<const Column<SegmentRow>*> used;
  const bool has_on_cpu =
      std::any_of(report.segments.begin(), report.segments.end(),
                  [](const SegmentRow& row) { return row.on_cpu.has_value(); });
  for (const Column<SegmentRow>& column : columns) {
    const std::string& name = column.name.front();
    if (column.title.empty() || column.unit == Unit::kNone ||
        column.unit == Unit::kId) {
      continue;  // beside the table's numbers
    }
    if (tables.IsChosen(column)) {
      used.push_back(&column);
      table.AddColumn(base::EscapeName(column.title), Align::kRight);
      continue;
    }
    if (!has_on_cpu && (name == "on_cpu_ns" || name == "off_cpu_ns")) {
      continue;
    }
    // Both are parts of off-CPU time, which cannot be split without wake-ups.
    if (!report.wakeups && (name == "wait_ns" || name == "blocked_ns")) {
      continue;
    }
    if ((name == "failed" || name == "probes_ns") &&
        TextTables::IsEmpty(column, report.segments)) {
      continue;
    }
    if (name == "counts") {
      // The on-CPU column shows it already.
      if (has_on_cpu && column.unit == Unit::kNanoseconds) continue;
      if (TextTables::IsEmpty(column, report.segments)) continue;
    }
    used.push_back(&column);
    table.AddColumn(base::EscapeName(column.title), Align::kRight,
                    name == "counts");
  }
  return used;
}

// The segment, and the value of its calls that rows are by: "read fd=3".
std::string SegmentName(const Report& report, const SegmentRow& row) {
  const std::string& value = report.wanted.value;
  const auto of = report.value_names.find(value);
  if (of == report.value_names.end() || !row.grouped.argument) {
    return row.segment;
  }
  return row.segment + " " + value + "=" +
         ValueText(of->second, row.segment, *row.grouped.argument);
}

template <typename Name>
void SegmentTable(TextTables& tables, const std::string& title,
                  const std::vector<Column<SegmentRow>>& all,
                  const std::vector<SegmentRow>& rows, bool by_path,
                  const Name& name_of) {
  if (rows.empty()) return;
  tables.Title(title);
  base::TextTable table;
  const auto columns = tables.Chosen(all);
  const auto used = AddSegmentColumns(tables, columns, table);
  const std::size_t limit = tables.RowLimit(rows.size());
  bool marks = false;
  for (std::size_t i = 0; i < limit; ++i) {
    marks |= !TextTables::QualityMarks(rows[i]).empty();
  }
  if (marks) table.AddColumn("", Align::kLeft);
  table.AddColumn("segment", Align::kLeft);
  for (std::size_t i = 0; i < limit; ++i) {
    const SegmentRow& row = rows[i];
    const std::string owner = OwnerText(row);
    if (by_path && (i == 0 || rows[i - 1].process != row.process ||
                    OwnerText(rows[i - 1]) != owner)) {
      table.AddHeading(base::EscapeName(owner));
    }
    std::vector<std::string> cells;
    for (const auto* column : used) {
      std::string text = tables.EstimateText(*column, row);
      cells.push_back(!text.empty()
                          ? std::move(text)
                          : FormatCell(column->value(row), column->unit));
    }
    if (marks) cells.push_back(TextTables::QualityMarks(row));
    cells.push_back(name_of(row));
    table.AddRow(std::move(cells));
  }
  tables.Finish(table, rows.size(), limit, marks);
}

// Names segments with a large part of their time in the hooks themselves.
void SegmentRemarks(TextTables& tables, const std::vector<SegmentRow>& rows) {
  constexpr std::size_t kNamed = 5;
  std::size_t found = 0;
  for (const SegmentRow& row : rows) {
    const std::uint64_t all = row.wall.incl;
    if (!row.recording_ns || *row.recording_ns * 10 <= all) continue;
    if (++found > kNamed) continue;
    tables.out() += absl::StrFormat(
        "  (about %s of %s in %s are its hooks and those in it)\n",
        base::FormatShare(*row.recording_ns, all),
        base::EscapeName(row.segment), base::EscapeName(OwnerText(row)));
  }
  if (found > kNamed) {
    tables.out() +=
        absl::StrFormat("  (and so of %d more segments)\n", found - kNamed);
  }
}

// Names the segments of programs that have calls without an exit.
void MissingExits(TextTables& tables, const std::vector<SegmentRow>& rows) {
  constexpr std::size_t kNamed = 5;
  std::size_t found = 0;
  for (const SegmentRow& row : rows) {
    if (row.end_inferred == 0 || row.location.Read().empty()) continue;
    if (++found > kNamed) continue;
    tables.out() += absl::StrFormat(
        "  (%s of %s calls of %s (%s) in %s have no exit in the trace:\n"
        "   a way out of it has none, they were open at the end, or it is "
        "late)\n",
        base::FormatCount(row.end_inferred), base::FormatCount(row.calls),
        base::EscapeName(row.segment), base::EscapeName(row.location.Read()),
        base::EscapeName(OwnerText(row)));
  }
  if (found > kNamed) {
    tables.out() += absl::StrFormat(
        "  (and so of %d more segments: --columns segment,end_inferred)\n",
        found - kNamed);
  }
}

}  // namespace

void AppendSegments(const Table<SegmentRow>& table,
                    const std::vector<Column<SegmentRow>>& columns,
                    const std::vector<SegmentRow>& rows, TextTables& tables) {
  if (table.by == ReportBy::kSegment) {
    SegmentTable(tables, table.title, columns, rows, /*by_path=*/false,
                 [&tables](const SegmentRow& row) {
                   return base::EscapeName(SegmentName(tables.report(), row) +
                                           "  " + OwnerText(row));
                 });
    SegmentRemarks(tables, rows);
    MissingExits(tables, rows);
    return;
  }
  // In a selection, the rows above do not show the callers: print whole
  // paths.
  const bool whole = tables.options().selection == nullptr;
  SegmentTable(tables, table.title, columns, rows, /*by_path=*/true,
               [whole, &tables](const SegmentRow& row) {
                 if (!whole) {
                   std::vector<std::string> path = row.path;
                   if (!path.empty()) {
                     path.back() = SegmentName(tables.report(), row);
                   }
                   return FormatCell(Cell(path), Unit::kNone);
                 }
                 const std::size_t depth =
                     row.path.empty() ? 0 : row.path.size() - 1;
                 return std::string(2 * std::min<std::size_t>(depth, 32), ' ') +
                        base::EscapeName(SegmentName(tables.report(), row));
               });
  if (whole) MissingExits(tables, tables.report().segments);
}

}  // namespace countrace::rmap
