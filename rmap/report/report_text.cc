// Text tables of a Report: one page, in this order.
#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/report_columns.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/books_text.h"
#include "rmap/report/bounds_text.h"
#include "rmap/report/report_views.h"
#include "rmap/report/segments_text.h"
#include "rmap/report/selection_text.h"
#include "rmap/report/summary_text.h"
#include "rmap/report/text_tables.h"
#include "rmap/tables/rows/process_groups.h"

namespace countrace::rmap {

namespace {

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

  void RenderTable(ReportBy table) {
    switch (table) {
      case ReportBy::kDefault:
      case ReportBy::kSample:  // cli/report/report_samples.cc
        break;
      case ReportBy::kProcess:
        Processes();
        break;
      case ReportBy::kThread:
        tables_.Table("THREADS", ThreadColumns(report_),
                      tables_.Selected(report_.threads, table));
        break;
      case ReportBy::kSegment:
        AppendSegments(tables_);
        break;
      case ReportBy::kPath:
        AppendPaths(tables_);
        break;
      case ReportBy::kCpu:
        tables_.Table("CPUS", CpuColumns(report_),
                      tables_.Selected(report_.cpu_rows, table));
        break;
      case ReportBy::kHook:
        tables_.Table("HOOKS", HookColumns(report_),
                      tables_.Selected(report_.hooks, table));
        break;
      case ReportBy::kWaker:
        Wakers();
        break;
      case ReportBy::kPreemptor:
        Preemptors();
        break;
      case ReportBy::kSystemCall:
        SystemCalls();
        break;
    }
  }

  void Wakers() {
    if (!report_.wakeups) {
      // The default report omits tables without data.
      if (options_.by == ReportBy::kWaker) {
        out_ +=
            "\nno wake-ups were recorded: record --kernel wakeups shows what "
            "ended blocked time\n";
      }
      return;
    }
    const auto rows = tables_.Selected(report_.wakers, ReportBy::kWaker);
    tables_.Table("WAKERS: what ended blocked time", WakerTextColumns(report_),
                  rows);
    if (!rows.empty() && !report_.interrupts) {
      out_ +=
          "  (interrupts were not recorded: a wake-up by one counts for the "
          "thread that\n   it interrupted; record --kernel "
          "wakeups,irq,softirq)\n";
    }
  }

  void Preemptors() {
    const auto rows =
        tables_.Selected(report_.preemptors, ReportBy::kPreemptor);
    tables_.Table("PREEMPTORS: what had the CPU of waiting threads",
                  PreemptorTextColumns(report_), rows);
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

  void SystemCalls() {
    if (!report_.system_calls) {
      out_ +=
          "\nno system calls were recorded: record --kernel syscalls shows "
          "them\n";
      return;
    }
    tables_.Table(
        "SYSTEM CALLS", SystemCallTextColumns(report_),
        tables_.Selected(report_.system_call_rows, ReportBy::kSystemCall));
  }

  void Processes() {
    std::uint64_t all = 0;
    for (const ProcessRow& row : report_.processes)
      all += row.on_cpu_ns.value_or(0);
    std::vector<Column<ProcessRow>> columns = ProcessColumns(report_);
    const auto on_cpu = std::find_if(
        columns.begin(), columns.end(),
        [](const auto& column) { return column.title == "on-CPU"; });
    columns.insert(on_cpu + 1, {{"share"},
                                "share",
                                Unit::kCount,
                                "Part of the on-CPU time of all processes.",
                                [all](const ProcessRow& row) -> Cell {
                                  if (!row.on_cpu_ns) return std::monostate();
                                  return base::FormatShare(*row.on_cpu_ns, all);
                                }});
    const auto rows = tables_.Selected(report_.processes, ReportBy::kProcess);
    tables_.Table("PROCESSES", columns, rows);
    FormerPrograms(rows);
  }

  // Names the rows that other programs have a twentieth of.
  void FormerPrograms(const std::vector<ProcessRow>& rows) {
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
      const std::string name =
          report_.processes_by.empty()
              ? ProcessName(row.comm, row.pid)
              : base::EscapeName(GroupOf(row, report_.processes_by));
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
