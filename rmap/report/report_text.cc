// Text tables of a Report: one page, in this order.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/errno_columns.h"
#include "rmap/columns/owner_text.h"
#include "rmap/columns/report_columns.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/books_text.h"
#include "rmap/report/bounds_text.h"
#include "rmap/report/report_views.h"
#include "rmap/report/segments_text.h"
#include "rmap/report/selection_text.h"
#include "rmap/report/summary_text.h"
#include "rmap/report/text_tables.h"

namespace countrace::rmap {

namespace {

// The columns that text shows, if they are others.
template <typename Row>
std::vector<Column<Row>> TextColumns(const Report&,
                                     const std::vector<Column<Row>>& columns) {
  return columns;
}

std::vector<Column<ProcessRow>> TextColumns(
    const Report& report, std::vector<Column<ProcessRow>> columns) {
  std::uint64_t all = 0;
  for (const ProcessRow& row : report.processes) {
    all += row.on_cpu_ns.value_or(0);
  }
  const auto on_cpu =
      std::find_if(columns.begin(), columns.end(),
                   [](const auto& column) { return column.title == "on-CPU"; });
  columns.insert(on_cpu + 1, {{"share"},
                              "share",
                              Unit::kCount,
                              "Part of the on-CPU time of all processes.",
                              [all](const ProcessRow& row) -> Cell {
                                if (!row.on_cpu_ns) return std::monostate();
                                return base::FormatShare(*row.on_cpu_ns, all);
                              }});
  return columns;
}

std::vector<Column<WakerRow>> TextColumns(
    const Report& report, const std::vector<Column<WakerRow>>& columns) {
  return WakerTextColumns(report, columns);
}
std::vector<Column<PreemptorRow>> TextColumns(
    const Report& report, const std::vector<Column<PreemptorRow>>& columns) {
  return PreemptorTextColumns(report, columns);
}
std::vector<Column<SystemCallRow>> TextColumns(
    const Report&, const std::vector<Column<SystemCallRow>>& columns) {
  return WithErrorsText(columns);
}
std::vector<Column<FileRow>> TextColumns(
    const Report&, const std::vector<Column<FileRow>>& columns) {
  return WithErrorsText(columns);
}

class TextReport {
 public:
  TextReport(const Report& report, const RenderOptions& options)
      : report_(report), options_(options), tables_(report, options) {}

  std::string Render() {
    out_ = SummaryText(report_);
    const std::vector<ReportBy> tables = Tables();
    for (const ReportBy table : tables) {
      if (Applies(table)) RenderTable(table);
    }
    if (options_.selection != nullptr) {
      out_ += where::SelectionText(*options_.selection, tables, options_);
    }
    if (options_.bounds) out_ += BoundsText(report_, tables, options_);
    if (options_.by == ReportBy::kDefault) AppendBooks(tables_);
    out_ += LossText(report_, options_.color);
    return std::move(out_);
  }

 private:
  bool Applies(ReportBy table) const {
    return options_.selection == nullptr ||
           options_.selection->Of(table).applies();
  }

  // The selected tables, including those that a selection of rows leaves out.
  std::vector<ReportBy> Tables() const {
    if (options_.by != ReportBy::kDefault) return {options_.by};
    std::vector<ReportBy> usual = {ReportBy::kProcess, ReportBy::kPath};
    if (report_.wakeups) usual.push_back(ReportBy::kWaker);
    if (std::any_of(usual.begin(), usual.end(),
                    [this](ReportBy table) { return Applies(table); })) {
      return usual;
    }
    // Rows are selected to be shown: show the tables that have them.
    std::vector<ReportBy> others;
    for (const auto& [table, selected] : options_.selection->tables) {
      if (selected.applies()) others.push_back(table);
    }
    return others;
  }

  void RenderTable(ReportBy by) {
    VisitTables(
        report_, [&](const auto& table, const auto& columns, const auto& rows) {
          if (table.by != by) return;
          if (!IsRecorded(table, report_)) {
            out_ += absl::StrFormat("\n%s\n", table.not_recorded);
            return;
          }
          std::decay_t<decltype(rows)> kept;  // else there are too many to copy
          const auto& selected =
              SelectedRows(rows, options_.selection, table.by, kept);
          Render(table, columns, selected);
          Remarks(selected);
        });
  }

  template <typename Row>
  void Render(const Table<Row>& table, const std::vector<Column<Row>>& columns,
              const std::vector<Row>& rows) {
    if constexpr (std::is_same_v<Row, SegmentRow>) {
      AppendSegments(table, columns, rows, tables_);
    } else {
      std::vector<Column<Row>> shown = TextColumns(report_, columns);
      // Those that JSON has can be chosen, too.
      if (!options_.columns.empty()) Append(columns, shown);
      tables_.Table(table.title, std::move(shown), rows);
    }
  }

  template <typename Row>
  void Remarks(const std::vector<Row>&) {}

  void Remarks(const std::vector<WakerRow>& rows) {
    if (rows.empty() || report_.interrupts) return;
    // Recordings that do not have the context of a wake-up name the thread.
    const auto any = [&rows](WakerKind kind) {
      return std::any_of(rows.begin(), rows.end(), [kind](const WakerRow& row) {
        return row.waker.kind == kind;
      });
    };
    const bool guessed = any(WakerKind::kIdle) || !any(WakerKind::kInterrupt);
    out_ += guessed ? "  (interrupts were not recorded: a wake-up by one "
                      "counts for the thread that\n   it interrupted; record "
                      "--kernel wakeups,irq,softirq)\n"
                    : "  (interrupts were not recorded, so they have no names; "
                      "record --kernel wakeups,irq,softirq)\n";
  }

  void Remarks(const std::vector<PreemptorRow>& rows) {
    if (!report_.wakeups) {
      out_ +=
          "  (wake-ups were not recorded: waiting after them is not in it; "
          "record --kernel wakeups)\n";
    }
    if (!rows.empty() && !report_.interrupts) {
      out_ +=
          "  (interrupts were not recorded: their time is that of what they "
          "interrupted; record\n   --kernel irq,softirq)\n";
    }
  }

  // Names the rows that other programs have a twentieth of.
  void Remarks(const std::vector<ProcessRow>& rows) {
    constexpr std::size_t kNamed = 5;
    std::size_t found = 0;
    for (const ProcessRow& row : rows) {
      std::uint64_t ns = 0;
      std::string names;
      for (const ProgramTime& program : row.before_exec) {
        ns += program.on_cpu_ns;
        names += (names.empty() ? "" : ", ") + base::EscapeName(program.comm) +
                 " " + FormatCell(program.on_cpu_ns, Unit::kNanoseconds);
      }
      if (ns * 20 < row.on_cpu_ns.value_or(0) || ns == 0) continue;
      if (++found > kNamed) continue;
      const std::string name = base::EscapeName(
          report_.rows_by == "user"     ? row.user
          : report_.rows_by == "cgroup" ? row.cgroup
          : report_.rows_by == "host"
              ? row.host.Read()
              : HostText(row) + OwnerText(row.comm, row.pid, 0));
      out_ += absl::StrFormat("  (of the %s of %s, before exec: %s)\n",
                              FormatCell(*row.on_cpu_ns, Unit::kNanoseconds),
                              name, names);
    }
    if (found > kNamed) {
      out_ += absl::StrFormat(
          "  (and so for %d more rows: --columns comm,before_exec_ns)\n",
          found - kNamed);
    }
  }

  const Report& report_;
  const RenderOptions& options_;
  TextTables tables_;
  std::string& out_ = tables_.out();
};

}  // namespace

std::string RenderText(const Report& report, const RenderOptions& options) {
  return TextReport(report, options).Render();
}

}  // namespace countrace::rmap
