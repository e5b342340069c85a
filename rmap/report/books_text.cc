#include "rmap/report/books_text.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {
namespace {

using Align = base::TextTable::Align;

// The books of one command: its own totals, and one line for the machine's.
void CommandBooks(TextTables& tables) {
  const std::vector<BooksRow> rows = BooksRows(tables.report());
  if (rows.empty()) return;
  std::vector<Column<BooksRow>> columns = BooksColumns();
  const bool idle =
      std::any_of(rows.begin(), rows.end(),
                  [](const BooksRow& row) { return row.books.idle != 0; });
  std::erase_if(columns, [idle](const Column<BooksRow>& column) {
    const std::string& name = column.name.front();
    return name == "total" || name == "outside" || (name == "idle" && !idle);
  });
  tables.Table("BOOKS of the command", columns, rows);
  std::string line = "  (outside, of the whole machine:";
  std::size_t used = line.size();
  const std::size_t shown = tables.RowLimit(rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const BooksRow& row = rows[i];
    const Unit unit = UnitOfEvent(row.event);
    const std::string part = absl::StrFormat(
        " %s %s of %s%s", base::EscapeName(row.event),
        FormatCell(row.books.outside, unit), FormatCell(row.books.total, unit),
        i + 1 != shown        ? ","
        : shown < rows.size() ? ", ...)"
                              : ")");
    if (used + part.size() >
        std::min<std::size_t>(tables.options().width, 100)) {
      line += "\n  ";
      used = 2;
    }
    line += part;
    used += part.size();
  }
  tables.out() += line + "\n";
}

// Names the events whose books hold lower bounds.
void DoubtLines(TextTables& tables) {
  const auto time = [](std::uint64_t ns) {
    return base::FormatNanoseconds(static_cast<double>(ns));
  };
  for (const BooksRow& row : BooksRows(tables.report())) {
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
    if (!parts.empty()) {
      tables.out() += absl::StrFormat("  (%s: lower bounds; %s of CPU time)\n",
                                      base::EscapeName(row.event),
                                      absl::StrJoin(parts, ", "));
    }
    if (doubt.cut_intervals == 0) continue;
    tables.out() += absl::StrFormat(
        "  (%s: a lower bound; the edges cut %d intervals between dumps, which "
        "have %s)\n",
        base::EscapeName(row.event), doubt.cut_intervals,
        doubt.cut_counts == Bounds::kNone
            ? "any number more"
            : "at most " +
                  FormatCell(doubt.cut_counts, UnitOfEvent(row.event)) +
                  " more");
  }
}

// Says how the estimate in the books was measured.
void RecordingLines(TextTables& tables) {
  const OwnCost& cost = tables.report().own_cost;
  const auto time = [](std::uint64_t ns) {
    return base::FormatNanoseconds(static_cast<double>(ns));
  };
  if (cost.bpf_sampled_ns != 0) {
    tables.out() += absl::StrFormat(
        "  (recording itself: about %s in the BPF programs, inside what they "
        "interrupt;\n   measured for %s of %s)\n",
        time(cost.bpf_ns), time(cost.bpf_sampled_ns),
        time(tables.report().elapsed_ns()));
  }
  for (const Books& books : tables.report().books) {
    if (!books.recording.probes) continue;
    const ProbeTime& probes = *books.recording.probes;
    tables.out() += absl::StrFormat(
        "  (and about %s [%s, %s] in probes: inside their processes, not in "
        "the rows\n   of segments)\n",
        time(probes.ns), time(probes.lo_ns), time(probes.hi_ns));
    break;  // of one clock as of the other
  }
  if (cost.hook_ps == 0 || cost.hook_records == 0) return;
  const auto each = [](std::uint64_t ps) {
    return absl::StrFormat("%.1f ns", static_cast<double>(ps) / 1000.0);
  };
  std::string cost_of_one = each(cost.hook_ps);
  if (cost.hook_dump_ps != 0) {
    cost_of_one += ", " + each(cost.hook_dump_ps) + " with counters";
  }
  tables.out() += absl::StrFormat(
      "  (and of %s hook records, inside their processes: one takes %s of "
      "CPU time here,\n   %s in its own thread)\n",
      base::FormatCount(cost.hook_records), each(cost.hook_cpu_ps),
      cost_of_one);
}

// Multiplexed events: the books above hold the counts of their rotations,
// this table holds estimates.
void ScaledBooksTable(TextTables& tables) {
  base::TextTable table;
  table.AddColumn("event", Align::kLeft);
  for (const char* name : {"counted", "total", "processes", "own cost", "idle",
                           "interrupts", "outside", "unattributed"}) {
    table.AddColumn(name, Align::kRight);
  }
  std::vector<BooksRow> rows = BooksRows(tables.report());
  std::erase_if(rows, [](const BooksRow& row) { return !row.books.scaled; });
  if (rows.empty()) return;
  const std::size_t shown = tables.RowLimit(rows.size());
  for (const BooksRow& row : std::span(rows).first(shown)) {
    const ScaledBooks& books = *row.books.scaled;
    const Unit unit = UnitOfEvent(row.event);
    ScaledCount total;
    total.value = books.total;
    total.standard_error = books.standard_error;
    total.freedom = books.freedom;
    total.running = books.running_ns;
    total.enabled = books.enabled_ns;
    std::vector<std::string> cells = {
        base::EscapeName(row.event),
        base::FormatShare(books.running_ns, books.enabled_ns),
        ScaledText(total, unit)};
    for (const auto& account :
         {books.processes, books.own, books.idle, books.interrupts,
          books.outside, books.unattributed}) {
      cells.push_back(account ? "~" + FormatCell(Cell(*account), unit) : "-");
    }
    table.AddRow(std::move(cells));
  }
  tables.Title("BOOKS of multiplexed events, scaled to all the time");
  tables.Finish(table, rows.size(), shown, /*marks=*/false);
  tables.out() +=
      "  (~: estimated from its set's rotations, +- half the 95 % interval; "
      "[a, b]: the interval where it\n   is lopsided, of few events; ~0 [0, "
      "b]: none was counted, b of those that come one by one can be\n   "
      "missed. counted: share of the CPU time in the rotations; the books "
      "above hold the counts in them.)\n";
}

}  // namespace

void AppendBooks(TextTables& tables) {
  if (tables.report().scope == "command") {
    CommandBooks(tables);
  } else {
    tables.Table("BOOKS", BooksColumns(), BooksRows(tables.report()));
  }
  ScaledBooksTable(tables);
  std::vector<std::string> uncounted;
  for (std::size_t i = 0; i < tables.report().books.size(); ++i) {
    if (tables.report().books[i].known) continue;
    uncounted.push_back(base::EscapeName(tables.report().events[i].name));
  }
  const std::size_t shown = tables.RowLimit(uncounted.size());
  for (const std::string& name : std::span(uncounted).first(shown)) {
    tables.out() += absl::StrFormat("  (%s: not counted by any CPU)\n", name);
  }
  if (shown < uncounted.size()) {
    tables.out() +=
        absl::StrFormat("  (nor %d more events)\n", uncounted.size() - shown);
  }
  DoubtLines(tables);
  RecordingLines(tables);
}

}  // namespace countrace::rmap
