// Text tables of a Report, in one file: one page with one layout.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/columns/report_columns.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/bounds_text.h"
#include "rmap/report/report_views.h"
#include "rmap/report/selection_text.h"
#include "rmap/state/call_paths.h"
#include "rmap/tables/bounds_summary.h"

namespace countrace::rmap {

namespace {

using Align = base::TextTable::Align;

std::string FormatCell(const Cell& cell, Unit unit) {
  return std::visit(
      [unit](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "-";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return base::EscapeName(value);
        } else if constexpr (std::is_arithmetic_v<Value> &&
                             !std::is_same_v<Value, bool>) {
          if (unit == Unit::kId) return std::to_string(value);
          if (unit == Unit::kNanoseconds) {
            return base::FormatNanoseconds(static_cast<double>(value));
          }
          if (value < Value{}) {
            return "-" +
                   base::FormatCount(~static_cast<std::uint64_t>(value) + 1);
          }
          return base::FormatCount(static_cast<std::uint64_t>(value));
        } else {
          return "";
        }
      },
      cell);
}

// Letters at the end of a row whose numbers are not exact, one for each reason.
template <typename Row>
std::string QualityMarks(const Row& row) {
  Qualities qualities;
  if constexpr (requires { row.qualities; }) {
    qualities = row.qualities;
  } else if constexpr (requires { row.quality; }) {
    qualities.Add(row.quality);
  }
  std::string marks;
  // Estimates in these rows have a ~ of their own.
  constexpr bool kHasEstimates = requires { row.scaled; };
  if (qualities.Has(Quality::kScaled) && !kHasEstimates) marks += 's';
  if (qualities.Has(Quality::kBounded)) marks += 'b';
  if (qualities.Has(Quality::kInferred)) marks += 'i';
  return marks;
}

std::string ProcessName(const std::string& comm, std::int32_t pid) {
  const std::string name = comm.empty() ? "(no name)" : base::EscapeName(comm);
  return absl::StrFormat("%s (pid %d)", name, pid);
}

class TextReport {
 public:
  TextReport(const Report& report, const RenderOptions& options)
      : report_(report), options_(options) {}

  std::string Render() {
    Summary();
    const std::vector<ReportBy> tables = Tables();
    for (const ReportBy table : tables) {
      if (Applies(table)) RenderTable(table);
    }
    if (options_.selection != nullptr) {
      out_ += where::SelectionText(*options_.selection, tables, options_);
    }
    if (options_.bounds) out_ += BoundsText(report_, tables, options_);
    if (options_.by == ReportBy::kDefault) BooksTable();
    LossLines();
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

  template <typename Row>
  std::vector<Row> Selected(const std::vector<Row>& rows,
                            ReportBy table) const {
    return SelectedRows(rows, options_.selection, table);
  }

  void RenderTable(ReportBy table) {
    switch (table) {
      case ReportBy::kDefault:
        break;
      case ReportBy::kProcess:
        Processes();
        break;
      case ReportBy::kThread:
        Table("THREADS", ThreadColumns(report_),
              Selected(report_.threads, table));
        break;
      case ReportBy::kSegment:
        Segments();
        break;
      case ReportBy::kPath:
        Paths();
        break;
      case ReportBy::kCpu:
        Table("CPUS", CpuColumns(report_), Selected(report_.cpu_rows, table));
        break;
      case ReportBy::kHook:
        Table("HOOKS", HookColumns(), Selected(report_.hooks, table));
        break;
      case ReportBy::kWaker:
        Wakers();
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
    const auto rows = Selected(report_.wakers, ReportBy::kWaker);
    Table("WAKERS: what ended blocked time", WakerTextColumns(), rows);
    if (!rows.empty() && !report_.interrupts) {
      out_ +=
          "  (interrupts were not recorded: a wake-up by one counts for the "
          "thread that\n   it interrupted; record --kernel "
          "wakeups,irq,softirq)\n";
    }
  }

  void Summary() {
    const char* scope = report_.scope == "system"    ? "whole system"
                        : report_.scope == "command" ? "one command"
                                                     : "hooks only";
    out_ += absl::StrFormat("%s: %s, %d CPUs, %s, %s records%s%s\n",
                            base::EscapeName(report_.path), scope, report_.cpus,
                            base::FormatNanoseconds(static_cast<double>(
                                report_.end_ns - report_.begin_ns)),
                            base::FormatCount(report_.records),
                            report_.finished ? "" : ", recording not finished",
                            report_.interrupted ? ", reading interrupted" : "");
    if (!report_.command.empty()) {
      out_ += "command: " + base::EscapeName(report_.command) + "\n";
    }
    if (!report_.source.empty()) {
      out_ += "recorded by " + base::EscapeName(report_.source) + "\n";
    }
    for (const logformat::TriggerFiring& trigger : report_.triggers) {
      const std::uint64_t since_ns =
          trigger.time_ns - std::min(trigger.time_ns, report_.begin_ns);
      out_ += absl::StrFormat(
          "trigger: %s: %s, at %s\n", base::EscapeName(trigger.trigger),
          base::EscapeName(trigger.what),
          base::FormatNanoseconds(static_cast<double>(since_ns)));
    }
    // A command's trace counts its own processes by default: print deviations
    // only.
    const bool gated = report_.count != "all" && !report_.count.empty() &&
                       (report_.scope != "command" ||
                        report_.count != "marked" || !report_.marks.empty());
    if (gated) {
      out_ += "counted: " + report_.count;
      for (std::size_t i = 0; i < report_.marks.size(); ++i) {
        out_ +=
            (i == 0 ? "; marked: " : ", ") + base::EscapeName(report_.marks[i]);
      }
      out_ += "\n";
    }
    if (report_.scope == "hooks") {
      out_ +=
          "no kernel records: on-CPU time and the kernel's counts are not "
          "known\n";
    }
    std::uint64_t wall = 0, busy = 0, idle = 0, outside = 0, unattributed = 0;
    std::uint64_t interrupts = 0;
    for (const CpuRow& row : report_.cpu_rows) {
      wall += row.wall_ns;
      busy += row.busy_ns;
      idle += row.idle_ns;
      interrupts += row.interrupts_ns;
      outside += row.outside_ns;
      unattributed += row.unattributed_ns;
    }
    if (wall == 0) return;
    out_ +=
        absl::StrFormat("CPU time: %s busy, ", base::FormatShare(busy, wall));
    if (report_.scope == "command" || (outside != 0 && idle == 0)) {
      out_ +=
          base::FormatShare(outside, wall) + " outside (other processes, idle)";
    } else {
      out_ += base::FormatShare(idle, wall) + " idle";
      if (outside != 0)
        out_ += ", " + base::FormatShare(outside, wall) + " outside";
    }
    if (interrupts != 0) {
      out_ += ", " + base::FormatShare(interrupts, wall) + " interrupts";
    }
    if (unattributed != 0) {
      out_ += ", " + base::FormatShare(unattributed, wall) + " unattributed";
    }
    out_ += absl::StrFormat(" of %s\n",
                            base::FormatNanoseconds(static_cast<double>(wall)));
  }

  void Title(const std::string& title) {
    out_ += options_.color ? "\n\x1b[1m" + title + "\x1b[0m\n"
                           : "\n" + title + "\n";
  }

  std::size_t RowLimit(std::size_t rows) const {
    return options_.max_rows == 0 ? rows : std::min(rows, options_.max_rows);
  }

  // Why numbers of this trace are bounded.
  const char* BoundedBecause() const {
    const Loss& loss = report_.loss;
    const bool lost =
        loss.discarded_events - loss.overwritten + loss.discarded_packets != 0;
    if (lost && report_.hidden_switches != 0) {
      return "records were lost, and switches were not shown";
    }
    if (report_.hidden_switches != 0) {
      return "the kernel did not show a switch";
    }
    return lost ? "records were lost" : "the owner of counts is not known";
  }

  void Finish(const base::TextTable& table, std::size_t rows, std::size_t shown,
              bool marks) {
    out_ += table.Render(options_.width, options_.color);
    if (shown < rows) {
      out_ += absl::StrFormat("  (%s more rows not shown)\n",
                              base::FormatCount(rows - shown));
    }
    if (marks) {
      out_ += absl::StrFormat(
          "  (s: scaled, multiplexed counters; b: bounded, %s;\n   i: "
          "inferred, an enter, exit or switch was not recorded%s)\n",
          BoundedBecause(),
          options_.bounds ? "" : "; --bounds prints the intervals");
    }
  }

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
    Title(title);
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
    const auto limits = AddLimits(used, rows, limit, table);
    for (std::size_t i = 0; i < limit; ++i) {
      std::vector<std::string> cells;
      for (const Column<Row>* column : used) {
        std::string text = EstimateText(*column, rows[i]);
        cells.push_back(!text.empty() ? std::move(text)
                                      : FormatCell(column->value(rows[i]),
                                                   UnitOf(*column, rows[i])));
      }
      if (marks) cells.push_back(QualityMarks(rows[i]));
      AddLimitCells(limits, rows[i], cells);
      table.AddRow(std::move(cells));
    }
    Finish(table, rows.size(), limit, marks);
  }

  // --- Intervals, where there is room: the first columns to go ---------------

  using LimitColumns = std::vector<std::pair<rmap::Number, Unit>>;

  // Adds a column for each number in `used` that is not exact in some row. An
  // estimate shows its own interval.
  template <typename Row>
  LimitColumns AddLimits(const std::vector<const Column<Row>*>& used,
                         const std::vector<Row>& rows, std::size_t limit,
                         base::TextTable& table) const {
    LimitColumns limits;
    if constexpr (requires(const Row& row) { row.bounds; }) {
      if (options_.bounds) return limits;  // they have a table
      for (const Column<Row>* column : used) {
        const auto number = NumberNamed(report_.events, FullName(*column));
        const auto has = [&](const Row& row) {
          return number && row.bounds.Of(*number) &&
                 EstimateText(*column, row).empty();
        };
        if (std::none_of(rows.begin(),
                         rows.begin() + static_cast<std::ptrdiff_t>(limit),
                         has)) {
          continue;
        }
        limits.emplace_back(*number, column->unit);
        table.AddColumn(base::EscapeName(column->title) + " [lo, hi]",
                        Align::kRight, /*optional=*/true);
      }
    }
    return limits;
  }

  template <typename Row>
  void AddLimitCells(const LimitColumns& limits, const Row& row,
                     std::vector<std::string>& cells) const {
    if constexpr (requires { row.bounds; }) {
      for (const auto& [number, unit] : limits) {
        const std::optional<Bounds> bounds = row.bounds.Of(number);
        cells.push_back(
            !bounds ? ""
                    : absl::StrFormat(
                          "[%s, %s]", FormatCell(Cell(bounds->lo), unit),
                          bounds->hi == Bounds::kNone
                              ? "none"
                              : FormatCell(Cell(bounds->hi), unit)));
      }
    }
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
      return ScaledText(*row.scaled[event]);
    } else if constexpr (requires { row.segment; }) {
      if (event >= row.counts.size() || !row.counts[event]) return "";
      const SegmentCount& count = *row.counts[event];
      return count.scaled ? ScaledText(InclusiveOf(count)) : "";
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
                                "Of the on-CPU time of all processes.",
                                [all](const ProcessRow& row) -> Cell {
                                  if (!row.on_cpu_ns) return std::monostate();
                                  return base::FormatShare(*row.on_cpu_ns, all);
                                }});
    Table("PROCESSES", columns,
          Selected(report_.processes, ReportBy::kProcess));
  }

  // Columns of the two segment tables; the name is last, because it may be long
  // and, by path, indented.
  std::vector<const Column<SegmentRow>*> AddSegmentColumns(
      const std::vector<Column<SegmentRow>>& columns, base::TextTable& table) {
    std::vector<const Column<SegmentRow>*> used;
    const bool has_on_cpu = std::any_of(
        report_.segments.begin(), report_.segments.end(),
        [](const SegmentRow& row) { return row.on_cpu.has_value(); });
    for (const Column<SegmentRow>& column : columns) {
      const std::string& name = column.name.front();
      if (column.title.empty() || name == "segment" || name == "pid" ||
          name == "comm") {
        continue;  // beside the table's numbers
      }
      if (IsChosen(column)) {
        used.push_back(&column);
        table.AddColumn(base::EscapeName(column.title), Align::kRight);
        continue;
      }
      if (!has_on_cpu && (name == "on_cpu_ns" || name == "off_cpu_ns")) {
        continue;
      }
      // Both are parts of off-CPU time, which cannot be split without wake-ups.
      if (!report_.wakeups && (name == "wait_ns" || name == "blocked_ns")) {
        continue;
      }
      if (name == "counts") {
        // The on-CPU column shows it already.
        if (has_on_cpu && column.unit == Unit::kNanoseconds) continue;
        if (IsEmpty(column, report_.segments)) continue;
      }
      used.push_back(&column);
      table.AddColumn(base::EscapeName(column.title), Align::kRight,
                      name == "counts");
    }
    return used;
  }

  template <typename Name>
  void SegmentTable(const std::string& title,
                    const std::vector<SegmentRow>& rows, bool grouped,
                    const Name& name_of) {
    if (rows.empty()) return;
    Title(title);
    base::TextTable table;
    const auto columns = Chosen(SegmentColumns(report_, false));
    const auto used = AddSegmentColumns(columns, table);
    const std::size_t limit = RowLimit(rows.size());
    bool marks = false;
    for (std::size_t i = 0; i < limit; ++i) {
      marks |= !QualityMarks(rows[i]).empty();
    }
    if (marks) table.AddColumn("", Align::kLeft);
    const auto limits = AddLimits(used, rows, limit, table);
    table.AddColumn("segment", Align::kLeft);
    for (std::size_t i = 0; i < limit; ++i) {
      const SegmentRow& row = rows[i];
      if (grouped && (i == 0 || rows[i - 1].process != row.process)) {
        table.AddHeading(ProcessName(row.comm, row.pid));
      }
      std::vector<std::string> cells;
      for (const auto* column : used) {
        std::string text = EstimateText(*column, row);
        cells.push_back(!text.empty()
                            ? std::move(text)
                            : FormatCell(column->value(row), column->unit));
      }
      if (marks) cells.push_back(QualityMarks(row));
      AddLimitCells(limits, row, cells);
      cells.push_back(name_of(row));
      table.AddRow(std::move(cells));
    }
    Finish(table, rows.size(), limit, marks);
  }

  // Names segments with a large part of their time in the hooks themselves.
  void SegmentRemarks(const std::vector<SegmentRow>& rows) {
    constexpr std::size_t kNamed = 5;
    std::size_t found = 0;
    for (const SegmentRow& row : rows) {
      const std::uint64_t all = row.wall.incl;
      if (!row.recording_ns || *row.recording_ns * 10 <= all) continue;
      if (++found > kNamed) continue;
      out_ += absl::StrFormat(
          "  (about %s of %s in %s are its hooks and those in it)\n",
          base::FormatShare(*row.recording_ns, all),
          base::EscapeName(row.segment), ProcessName(row.comm, row.pid));
    }
    if (found > kNamed) {
      out_ +=
          absl::StrFormat("  (and so of %d more segments)\n", found - kNamed);
    }
  }

  void Segments() {
    const auto rows = Selected(report_.segments, ReportBy::kSegment);
    SegmentTable("SEGMENTS", rows, /*grouped=*/false,
                 [](const SegmentRow& row) {
                   return base::EscapeName(row.segment) + "  " +
                          ProcessName(row.comm, row.pid);
                 });
    SegmentRemarks(rows);
  }

  void Paths() {
    const auto rows = Selected(report_.segment_paths, ReportBy::kPath);
    // In a selection, the rows above do not show the callers: print whole
    // paths.
    const bool whole = options_.selection == nullptr;
    SegmentTable(
        "SEGMENTS by call path", rows, /*grouped=*/true,
        [whole](const SegmentRow& row) {
          if (!whole) return JoinedPath(row.path);
          const std::size_t depth = row.path.empty() ? 0 : row.path.size() - 1;
          return std::string(2 * std::min<std::size_t>(depth, 32), ' ') +
                 base::EscapeName(row.segment);
        });
  }

  static std::string JoinedPath(const std::vector<std::string>& path) {
    std::string joined;
    for (const std::string& name : path) {
      joined += (joined.empty() ? "" : " > ") + base::EscapeName(name);
    }
    return joined;
  }

  void BooksTable() {
    if (report_.scope == "command") {
      CommandBooks();
    } else {
      Table("BOOKS", BooksColumns(), BooksRows(report_));
    }
    ScaledBooksTable();
    for (std::size_t i = 0; i < report_.books.size(); ++i) {
      if (report_.books[i].known) continue;
      out_ += absl::StrFormat("  (%s: not counted by any CPU)\n",
                              base::EscapeName(report_.events[i].name));
    }
    DoubtLines();
    RecordingLines();
  }

  // The books of one command: its own totals, and one line for the machine's.
  void CommandBooks() {
    const std::vector<BooksRow> rows = BooksRows(report_);
    if (rows.empty()) return;
    std::vector<Column<BooksRow>> columns = BooksColumns();
    const bool idle =
        std::any_of(rows.begin(), rows.end(),
                    [](const BooksRow& row) { return row.books.idle != 0; });
    std::erase_if(columns, [idle](const Column<BooksRow>& column) {
      const std::string& name = column.name.front();
      return name == "total" || name == "outside" || (name == "idle" && !idle);
    });
    Table("BOOKS of the command", columns, rows);
    std::string line = "  (outside, of the whole machine:";
    std::size_t used = line.size();
    for (const BooksRow& row : rows) {
      const Unit unit = UnitOfEvent(row.event);
      const std::string part = absl::StrFormat(
          " %s %s of %s%s", base::EscapeName(row.event),
          FormatCell(row.books.outside, unit),
          FormatCell(row.books.total, unit), &row == &rows.back() ? ")" : ",");
      if (used + part.size() > std::min<std::size_t>(options_.width, 100)) {
        line += "\n  ";
        used = 2;
      }
      line += part;
      used += part.size();
    }
    out_ += line + "\n";
  }

  // Names the events whose books hold lower bounds.
  void DoubtLines() {
    const auto time = [](std::uint64_t ns) {
      return base::FormatNanoseconds(static_cast<double>(ns));
    };
    for (const BooksRow& row : BooksRows(report_)) {
      const BooksDoubt& doubt = row.books.doubt;
      if (!doubt.any()) continue;
      std::vector<std::string> parts;
      if (doubt.wrapped_intervals != 0) {
        parts.push_back("its counter may have wrapped more than once in " +
                        time(doubt.wrapped_ns));
      }
      if (doubt.went_back_intervals != 0) {
        parts.push_back("was reset or used by another program in " +
                        time(doubt.went_back_ns));
      }
      if (doubt.other_mmcr_intervals != 0) {
        parts.push_back("counted something else after " +
                        time(doubt.other_mmcr_ns));
      }
      out_ += absl::StrFormat("  (%s: lower bounds; %s of CPU time)\n",
                              base::EscapeName(row.event),
                              absl::StrJoin(parts, ", "));
    }
  }

  // Says how the estimate in the books was measured.
  void RecordingLines() {
    const OwnCost& cost = report_.own_cost;
    const auto time = [](std::uint64_t ns) {
      return base::FormatNanoseconds(static_cast<double>(ns));
    };
    if (cost.bpf_sampled_ns != 0) {
      out_ += absl::StrFormat(
          "  (recording itself: about %s in the BPF programs, inside what they "
          "interrupt;\n   measured for %s of %s)\n",
          time(cost.bpf_ns), time(cost.bpf_sampled_ns),
          time(report_.end_ns - report_.begin_ns));
    }
    if (cost.hook_ps == 0 || cost.hook_records == 0) return;
    const auto each = [](std::uint64_t ps) {
      return absl::StrFormat("%.1f ns", static_cast<double>(ps) / 1000.0);
    };
    std::string cost_of_one = each(cost.hook_ps);
    if (cost.hook_dump_ps != 0) {
      cost_of_one += ", " + each(cost.hook_dump_ps) + " with counters";
    }
    out_ += absl::StrFormat(
        "  (and of %s hook records, inside their processes: one takes %s of "
        "CPU time here,\n   %s in its own thread)\n",
        base::FormatCount(cost.hook_records), each(cost.hook_cpu_ps),
        cost_of_one);
  }

  // Multiplexed events: the books above hold the counts of their rotations,
  // this table holds estimates.
  void ScaledBooksTable() {
    base::TextTable table;
    table.AddColumn("event", Align::kLeft);
    for (const char* name : {"counted", "total", "processes", "own cost",
                             "idle", "interrupts", "outside", "unattributed"}) {
      table.AddColumn(name, Align::kRight);
    }
    std::size_t rows = 0;
    for (const BooksRow& row : BooksRows(report_)) {
      if (!row.books.scaled) continue;
      const ScaledBooks& books = *row.books.scaled;
      ScaledCount total;
      total.value = books.total;
      total.standard_error = books.standard_error;
      total.freedom = books.freedom;
      total.running = books.running_ns;
      total.enabled = books.enabled_ns;
      std::vector<std::string> cells = {
          base::EscapeName(row.event),
          base::FormatShare(books.running_ns, books.enabled_ns),
          ScaledText(total)};
      for (const auto& account :
           {books.processes, books.own, books.idle, books.interrupts,
            books.outside, books.unattributed}) {
        cells.push_back(account ? "~" + base::FormatCount(*account) : "-");
      }
      table.AddRow(std::move(cells));
      ++rows;
    }
    if (rows == 0) return;
    Title("BOOKS of multiplexed events, scaled to all the time");
    Finish(table, rows, rows, /*marks=*/false);
    out_ +=
        "  (~: estimated from its set's rotations, +- half the 95 % interval; "
        "[a, b]: the interval where it\n   is lopsided, of few events; ~0 [0, "
        "b]: none was counted, b of those that come one by one can be\n   "
        "missed. counted: share of the CPU time in the rotations; the books "
        "above hold the counts in them.)\n";
  }

  // How wide the intervals are.
  std::string LimitsLine() const {
    const BoundsSummary bounds = SummaryOfBounds(report_);
    if (bounds.numbers == 0) return "";
    std::string line =
        absl::StrFormat("limits: %s numbers of rows are not exact",
                        base::FormatCount(bounds.numbers));
    const std::uint64_t limited = bounds.numbers - bounds.without_limit;
    if (limited != 0) {
      line +=
          absl::StrFormat("; the intervals of %s are %.1f %% wide on average",
                          base::FormatCount(limited), 100 * bounds.mean_width);
    }
    if (bounds.without_limit != 0) {
      line += absl::StrFormat(", %s have no upper limit",
                              base::FormatCount(bounds.without_limit));
    }
    return line + "\n";
  }

  void LossLines() {
    const Loss& loss = report_.loss;
    out_ += "\n";
    for (const std::string& what : report_.not_known) {
      out_ += "not known: " + base::EscapeName(what) + "\n";
    }
    for (const std::string& message : loss.messages) {
      out_ += "note: " + base::EscapeName(message) + "\n";
    }
    out_ += LimitsLine();
    std::string line = absl::StrFormat(
        "captured %s records, discarded %s", base::FormatCount(report_.records),
        base::FormatCount(loss.discarded_events));
    std::string causes;
    for (const auto& [cause, records] : loss.by_cause) {
      causes +=
          absl::StrFormat("%s%s %s", causes.empty() ? "" : ", ",
                          base::EscapeName(cause), base::FormatCount(records));
    }
    if (!causes.empty()) line += " (" + causes + ")";
    if (loss.discarded_packets != 0) {
      line += absl::StrFormat(", %s packets unreadable",
                              base::FormatCount(loss.discarded_packets));
    }
    if (loss.clock_errors != 0) {
      line += absl::StrFormat(", %s clock errors",
                              base::FormatCount(loss.clock_errors));
    }
    const bool lost = loss.discarded_events != 0 ||
                      loss.discarded_packets != 0 || loss.clock_errors != 0;
    if (options_.color && lost) line = "\x1b[31m" + line + "\x1b[0m";
    out_ += line + "\n";
  }

  const Report& report_;
  const RenderOptions& options_;
  std::string out_;
};

}  // namespace

std::string RenderText(const Report& report, const RenderOptions& options) {
  return TextReport(report, options).Render();
}

}  // namespace countrace::rmap
