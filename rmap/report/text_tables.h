// The tables of the text report: rows of any kind in the columns of
// report_columns.h, with marks, estimates, and intervals where there is room.
#ifndef COUNTRACE_RMAP_REPORT_TEXT_TABLES_H_
#define COUNTRACE_RMAP_REPORT_TEXT_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/columns/report_columns.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/render_options.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

std::string FormatCell(const Cell& cell, Unit unit);
std::string ProcessName(const std::string& comm, std::int32_t pid);
// The letters behind a row with `qualities`, one for each reason.
// `has_estimates`: its estimates have a ~ of their own.
std::string QualityLetters(Qualities qualities, bool has_estimates);

// Appends tables to one text.
class TextTables {
 public:
  TextTables(const Report& report, const RenderOptions& options)
      : report_(report), options_(options) {}

  using Align = base::TextTable::Align;

  const Report& report() const { return report_; }
  const RenderOptions& options() const { return options_; }
  std::string& out() { return out_; }

  void Title(const std::string& title);
  std::size_t RowLimit(std::size_t rows) const;
  // Appends `table`, which shows `shown` of `rows` rows; `marks`: and what the
  // letters mean.
  void Finish(const base::TextTable& table, std::size_t rows, std::size_t shown,
              bool marks);

  // The columns that the user chose. Other tables than those of rows (books)
  // have all of theirs.
  template <typename Row>
  std::vector<Column<Row>> Chosen(std::vector<Column<Row>> columns) const {
    if constexpr (std::is_same_v<Row, BooksRow>) return columns;
    return ChosenColumns(std::move(columns), options_.columns);
  }
  template <typename Row>
  bool IsChosen(const Column<Row>&) const {
    return !std::is_same_v<Row, BooksRow> && !options_.columns.empty();
  }

  template <typename Row>
  void Table(const std::string& title, std::vector<Column<Row>> all,
             const std::vector<Row>& rows) {
    const std::vector<Column<Row>> columns = Chosen(std::move(all));
    if (rows.empty() || columns.empty()) return;
    if (!title.empty()) Title(title);
    base::TextTable table;
    std::vector<const Column<Row>*> used;
    const std::size_t limit = RowLimit(rows.size());
    for (const Column<Row>& column : columns) {
      const bool chosen = IsChosen(column);
      if (!chosen && (column.title.empty() || IsEmpty(column, rows))) continue;
      constexpr bool kHasOnCpu = requires(const Row& r) { r.on_cpu_ns; };
      if (!chosen && kHasOnCpu && column.name.front() == "counts" &&
          IsOnCpuClock(column.name.back()) && !IsScaled(column.name.back())) {
        continue;
      }
      used.push_back(&column);
      table.AddColumn(base::EscapeName(column.title),
                      column.unit == Unit::kNone ? Align::kLeft : Align::kRight,
                      !chosen && column.name.front() == "counts");
    }
    bool marks = false;
    for (std::size_t i = 0; i < limit; ++i) {
      marks |= !QualityMarks(rows[i]).empty();
    }
    if (marks) table.AddColumn("", Align::kLeft);
    for (std::size_t i = 0; i < limit; ++i) {
      std::vector<std::string> cells;
      for (const Column<Row>* column : used) {
        std::string text = EstimateText(*column, rows[i]);
        cells.push_back(!text.empty() ? std::move(text)
                                      : FormatCell(column->value(rows[i]),
                                                   UnitOf(*column, rows[i])));
      }
      if (marks) cells.push_back(QualityMarks(rows[i]));
      table.AddRow(std::move(cells));
    }
    Finish(table, rows.size(), limit, marks);
  }

  template <typename Row>
  std::vector<Row> Selected(const std::vector<Row>& rows,
                            ReportBy table) const {
    return SelectedRows(rows, options_.selection, table);
  }

  // Letters at the end of a row whose numbers are not exact.
  template <typename Row>
  static std::string QualityMarks(const Row& row) {
    Qualities qualities;
    if constexpr (requires { row.qualities; }) {
      qualities = row.qualities;
    } else if constexpr (requires { row.quality; }) {
      qualities.Add(row.quality);
    }
    constexpr bool kHasEstimates = requires { row.scaled; };
    return QualityLetters(qualities, kHasEstimates);
  }

  bool IsScaled(const std::string& event) const {
    const auto at = EventIndex(report_.events, event);
    return at && report_.events[*at].scaled;
  }

  // The text of a count that is an estimate; empty for other counts.
  template <typename Row>
  std::string EstimateText(const Column<Row>& column, const Row& row) const {
    if (column.name.front() != "counts") return "";
    const std::size_t event = EventIndex(report_.events, column.name[1])
                                  .value_or(report_.events.size());
    if constexpr (requires { row.scaled; }) {
      if (event >= row.scaled.size() || !row.scaled[event]) return "";
      return ScaledText(*row.scaled[event], column.unit);
    } else if constexpr (requires { row.segment; }) {
      if (event >= row.counts.size() || !row.counts[event]) return "";
      const SegmentCount& count = *row.counts[event];
      return count.estimate ? ScaledText(InclusiveOf(count), column.unit) : "";
    } else {
      return "";
    }
  }

  // Columns without information: counts that no row has, accounts that are 0.
  template <typename Row>
  static bool IsEmpty(const Column<Row>& column, const std::vector<Row>& rows) {
    const std::string& name = column.name.front();
    const bool may_go = name == "counts" || name == "interrupts" ||
                        name == "own" || name == "recording" ||
                        name == "recording_ns" || name == "blocked_ns" ||
                        name == "failed" || name == "probes_ns" ||
                        name.rfind("outside", 0) == 0 || name == "in_segments";
    return may_go && std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
             const Cell cell = column.value(row);
             const auto* number = std::get_if<std::uint64_t>(&cell);
             return std::holds_alternative<std::monostate>(cell) ||
                    (name != "counts" && number != nullptr && *number == 0);
           });
  }

  template <typename Row>
  static Unit UnitOf(const Column<Row>& column, const Row&) {
    return column.unit;
  }
  // The unit of an account is its event's; the residual stays a bare number,
  // so that it can be read to the last digit.
  static Unit UnitOf(const Column<BooksRow>& column, const BooksRow& row) {
    if (column.unit != Unit::kCount || column.name.front() == "residual") {
      return column.unit;
    }
    return UnitOfEvent(row.event);
  }

 private:
  std::string BoundedBecause() const;

  const Report& report_;
  const RenderOptions& options_;
  std::string out_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REPORT_TEXT_TABLES_H_
