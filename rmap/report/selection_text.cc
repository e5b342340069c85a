#include "rmap/report/selection_text.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap::where {
namespace {

using Align = base::TextTable::Align;

std::string Amount(std::uint64_t value, const SelectedShare& share) {
  const std::string text =
      share.is_time ? base::FormatNanoseconds(static_cast<double>(value))
                    : base::FormatCount(value);
  return share.scaled ? "~" + text : text;
}

// The label of a table's first share.
const char* Label(const std::string& column) {
  struct Known {
    const char* column;
    const char* label;
  };
  static constexpr Known kKnown[] = {{"on_cpu_ns", "on-CPU"},
                                     {"on_cpu_ns.excl", "on-CPU self"},
                                     {"wall_ns.excl", "wall self"},
                                     {"wall_ns", "wall"},
                                     {"wall_ns.incl", "wall"},
                                     {"wait_ns", "wait"},
                                     {"hits", "hits"},
                                     {"self", "self"},
                                     {"blocked_ns", "blocked"}};
  for (const Known& known : kKnown) {
    if (column == known.column) return known.label;
  }
  return "";
}

// A clock counts on-CPU time, shown already; its estimate is not.
bool IsColumn(const SelectedShare& share) {
  return share.is_event && (!share.is_time || share.scaled);
}

std::string ShareText(const SelectedShare& share) {
  return absl::StrFormat("%s of %s%s%s (%s)", Amount(share.selected, share),
                         Amount(share.total, share), share.is_event ? "" : " ",
                         share.is_event ? "" : Label(share.name),
                         base::FormatShare(share.selected, share.total));
}

}  // namespace

std::string SelectionText(const RowSelection& selection,
                          const std::vector<ReportBy>& wanted,
                          const RenderOptions& options) {
  std::string left_out;
  std::vector<ReportBy> shown;
  std::vector<std::string> events;
  for (const ReportBy table : wanted) {
    const TableSelection& selected = selection.Of(table);
    if (!selected.applies()) {
      left_out += absl::StrFormat(
          "  (%s left out: their rows have no field `%s`)\n", TableName(table),
          base::EscapeName(selected.missing.front()));
      continue;
    }
    shown.push_back(table);
    for (const SelectedShare& share : selected.shares) {
      if (share.is_event &&
          std::find(events.begin(), events.end(), share.name) == events.end()) {
        events.push_back(share.name);
      }
    }
  }
  base::TextTable table;
  table.AddColumn("table", Align::kLeft);
  table.AddColumn("rows", Align::kRight);
  table.AddColumn("of all rows", Align::kRight);
  for (const std::string& event : events) {
    table.AddColumn(base::EscapeName(event), Align::kRight, /*optional=*/true);
  }
  for (const ReportBy by : shown) {
    const TableSelection& selected = selection.Of(by);
    std::vector<std::string> cells = {
        TableName(by),
        absl::StrFormat("%s of %s", base::FormatCount(selected.selected),
                        base::FormatCount(selected.rows.size())),
        "-"};
    cells.resize(3 + events.size(), "-");
    for (const SelectedShare& share : selected.shares) {
      if (share.is_event && !IsColumn(share)) continue;
      const auto event = std::find(events.begin(), events.end(), share.name);
      const auto place = share.is_event ? event - events.begin() + 3 : 2;
      cells[static_cast<std::size_t>(place)] = ShareText(share);
    }
    table.AddRow(std::move(cells));
  }
  const std::string title =
      "SELECTED by " + base::EscapeName(selection.expression);
  std::string out =
      options.color ? "\n\x1b[1m" + title + "\x1b[0m\n" : "\n" + title + "\n";
  if (!shown.empty()) {
    out += table.Render(options.width, options.color);
    if (!events.empty()) {
      out +=
          "  (events: of the totals of the books, which are those of the whole "
          "trace)\n";
    }
  }
  return out + left_out;
}

}  // namespace countrace::rmap::where
