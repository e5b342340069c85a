// Columns of the books of events.
#include <string>
#include <vector>

#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {

namespace {

// Parts of the books of a clock.
std::vector<Column<BooksRow>> RecordingColumns() {
  using R = BooksRow;
  return {
      {{"recording", "total"},
       "of it recording",
       Unit::kCount,
       "Part of all accounts: what hooks, probes and the recorder's BPF "
       "programs "
       "took, estimated.",
       [](const R& r) -> Cell {
         if (!r.books.recording.any()) return std::monostate();
         return r.books.recording.total();
       }},
      {{"recording", "hooks"},
       "",
       Unit::kCount,
       "User hooks: records times what one costs on that machine.",
       Field(&R::books, &Books::recording, &Recording::hooks)},
      {{"recording", "bpf"},
       "",
       Unit::kCount,
       "The recorder's BPF programs, by the kernel's measure.",
       Field(&R::books, &Books::recording, &Recording::bpf)},
      {{"recording", "probes"},
       "",
       Unit::kCount,
       "Probes (uprobes, USDT, kfunc): hits times what one costs there.",
       Field(&R::books, &Books::recording, &Recording::probes, &ProbeTime::ns)},
      {{"recording", "probes_lo"},
       "",
       Unit::kCount,
       "Lower limit of that.",
       Field(&R::books, &Books::recording, &Recording::probes,
             &ProbeTime::lo_ns)},
      {{"recording", "probes_hi"},
       "",
       Unit::kCount,
       "Upper limit.",
       Field(&R::books, &Books::recording, &Recording::probes,
             &ProbeTime::hi_ns)},
      {{"recording", "processes"},
       "",
       Unit::kCount,
       "Part of processes: hooks, probes, and what the BPF programs took "
       "there.",
       [](const R& r) { return CellOf(r.books.recording.processes()); }},
      {{"recording", "idle"},
       "",
       Unit::kCount,
       "Part of idle.",
       Field(&R::books, &Books::recording, &Recording::bpf_idle)},
      {{"recording", "interrupts"},
       "",
       Unit::kCount,
       "Part of interrupts.",
       Field(&R::books, &Books::recording, &Recording::bpf_interrupts)},
      {{"recording", "unattributed"},
       "",
       Unit::kCount,
       "Part of unattributed.",
       Field(&R::books, &Books::recording, &Recording::bpf_unattributed)},
      {{"recording", "quality"},
       "",
       Unit::kQuality,
       "How sure the estimate is.",
       [](const R& r) -> Cell {
         if (!r.books.recording.any()) return std::monostate();
         return std::string(QualityName(Quality::kScaled));
       }}};
}

}  // namespace

std::vector<Column<BooksRow>> BooksColumns() {
  using R = BooksRow;
  std::vector<Column<R>> columns = {
      {{"event"}, "event", Unit::kNone, "Event.", Field(&R::event)},
      {{"total"},
       "total",
       Unit::kCount,
       "Last minus first dump, over all CPUs.",
       Field(&R::books, &Books::total)},
      {{"processes"},
       "processes",
       Unit::kCount,
       "Counted in threads, but the recorder's.",
       Field(&R::books, &Books::processes)},
      {{"in_segments"},
       "in segments",
       Unit::kCount,
       "Part of processes: inside any segment.",
       Field(&R::books, &Books::in_segments)},
      {{"own"},
       "own cost",
       Unit::kCount,
       "Counted in the recorder's process.",
       Field(&R::books, &Books::own)},
      {{"idle"},
       "idle",
       Unit::kCount,
       "Counted while idle.",
       Field(&R::books, &Books::idle)},
      {{"interrupts"},
       "interrupts",
       Unit::kCount,
       "Counted in interrupts.",
       Field(&R::books, &Books::interrupts)},
      {{"outside"},
       "outside",
       Unit::kCount,
       "Counted in what the scope left out.",
       Field(&R::books, &Books::outside)},
      {{"unattributed"},
       "unattributed",
       Unit::kCount,
       "Counted where records were lost.",
       Field(&R::books, &Books::unattributed)},
      {{"residual"},
       "residual",
       Unit::kCount,
       "total minus all accounts.",
       Field(&R::books, &Books::residual)}};
  Append(RecordingColumns(), columns);
  return columns;
}

std::vector<BooksRow> BooksRows(const Report& report) {
  std::vector<BooksRow> rows;
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    if (!report.books[i].known || i >= report.events.size()) continue;
    rows.push_back({report.events[i].name, report.books[i]});
  }
  return rows;
}

}  // namespace countrace::rmap
