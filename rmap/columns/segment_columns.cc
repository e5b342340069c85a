// Columns of segments, by process and by call path.
#include <set>
#include <string>

#include "rmap/columns/column_cells.h"
#include "rmap/columns/errno_name.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {

namespace {

void AddSegmentCounts(const Report& report,
                      std::vector<Column<SegmentRow>>& columns) {
  using R = SegmentRow;
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const std::string& event = report.events[i].name;
    const Unit unit = UnitOfEvent(event);
    const auto add = [&](const char* name, Unit of, const char* meaning,
                         const CellAccess<R>& value) {
      const bool in_text = std::string(name) == "incl";
      columns.push_back({{"counts", event, name},
                         in_text ? event : "",
                         of,
                         meaning,
                         value,
                         std::string(name).ends_with("stderr")});
    };
    add("incl", unit, "Count inside the segment and what it called.",
        Item(&R::counts, i, &SegmentCount::incl));
    add("excl", unit, "Count inside the segment alone.",
        Item(&R::counts, i, &SegmentCount::excl));
    add("quality", Unit::kQuality, "How sure the two are.",
        Item(&R::counts, i, &SegmentCount::quality));
    if (!report.events[i].scaled) continue;
    add("stderr", unit, "Standard error of incl.",
        Item(&R::counts, i, &SegmentCount::estimate,
             &SegmentEstimate::standard_error));
    add("excl_stderr", unit, "Standard error of excl.",
        Item(&R::counts, i, &SegmentCount::estimate,
             &SegmentEstimate::excl_standard_error));
    add("counted", unit, "Part of incl that was counted.",
        Item(&R::counts, i, &SegmentCount::estimate,
             &SegmentEstimate::counted));
  }
}

// The failed calls, and those of each errno that a row has; of a report without
// rows (EmptyReport()), those of any errno.
void AddErrors(const Report& report, std::vector<Column<SegmentRow>>& columns) {
  if (!report.system_calls) return;
  std::set<int> errors;
  for (const SegmentRow& row : report.segments) {
    if (!row.errors) continue;
    for (const auto& [error, calls] : *row.errors) errors.insert(error);
  }
  if (report.segments.empty()) errors = AllErrnos();
  columns.push_back(
      {{"failed"},
       "failed",
       Unit::kCount,
       "Part of the calls of a system call: they returned an error.",
       CellPair{[](const SegmentRow& row) -> Cell {
                  if (!row.errors) return std::monostate();
                  std::uint64_t failed = 0;
                  for (const auto& [error, calls] : *row.errors) {
                    failed += calls;
                  }
                  return failed;
                },
                [](SegmentRow& row, const Cell& cell) {
                  if (!IsAbsent(cell)) row.errors.emplace();
                  return true;  // the sum of those by errno
                }}});
  for (const int error : errors) {
    columns.push_back({{"errors", ErrnoName(error)},
                       "",
                       Unit::kCount,
                       "Part of failed: with this errno.",
                       CellPair{[error](const SegmentRow& row) -> Cell {
                                  if (!row.errors) return std::monostate();
                                  const auto found = row.errors->find(error);
                                  if (found == row.errors->end()) {
                                    return std::monostate();
                                  }
                                  return found->second;
                                },
                                [error](SegmentRow& row, const Cell& cell) {
                                  if (IsAbsent(cell)) return true;
                                  return SetCell(cell,
                                                 Present(row.errors)[error]);
                                }}});
  }
}

// Those of several rows cannot be made from theirs.
auto Percentile(std::uint64_t TimeStatistics::*field) {
  return CellPair{[field](const SegmentRow& row) -> Cell {
                    if (row.grouped.rows > 1) return std::monostate();
                    return row.wall.*field;
                  },
                  [field](SegmentRow& row, const Cell& cell) {
                    return SetCell(cell, row.wall.*field);
                  }};
}

// One call's time from enter to exit, and its statistics.
std::vector<Column<SegmentRow>> WallTimeColumns() {
  using R = SegmentRow;
  return {{{"wall_ns", "incl"},
           "wall",
           Unit::kNanoseconds,
           "Time from enter to exit; of a recursive segment, of its outermost "
           "calls.",
           Field(&R::wall, &TimeStatistics::incl)},
          {{"wall_ns", "excl"},
           "wall self",
           Unit::kNanoseconds,
           "The same without the segments called.",
           Field(&R::wall, &TimeStatistics::excl)},
          {{"wall_ns", "mean"},
           "",
           Unit::kNanoseconds,
           "Mean of one call's time.",
           [](const R& r) -> Cell { return Rounded(r.wall.mean); }},
          {{"wall_ns", "stddev"},
           "",
           Unit::kNanoseconds,
           "Standard deviation of one call's time (population).",
           [](const R& r) -> Cell { return Rounded(r.wall.stddev); }},
          {{"wall_ns", "min"},
           "",
           Unit::kNanoseconds,
           "Shortest call.",
           Field(&R::wall, &TimeStatistics::min)},
          {{"wall_ns", "max"},
           "",
           Unit::kNanoseconds,
           "Longest call.",
           Field(&R::wall, &TimeStatistics::max)},
          {{"wall_ns", "p50"},
           "p50",
           Unit::kNanoseconds,
           "Median call, within 0.8 %.",
           Percentile(&TimeStatistics::p50)},
          {{"wall_ns", "p90"},
           "",
           Unit::kNanoseconds,
           "90th percentile, within 0.8 %.",
           Percentile(&TimeStatistics::p90)},
          {{"wall_ns", "p99"},
           "p99",
           Unit::kNanoseconds,
           "99th percentile, within 0.8 %.",
           Percentile(&TimeStatistics::p99)}};
}

// What the thread did meanwhile.
std::vector<Column<SegmentRow>> ThreadTimeColumns() {
  using R = SegmentRow;
  return {
      {{"on_cpu_ns", "incl"},
       "on-CPU",
       Unit::kNanoseconds,
       "Part of wall incl: its thread was on a CPU.",
       Incl(&R::on_cpu)},
      {{"on_cpu_ns", "excl"},
       "",
       Unit::kNanoseconds,
       "Part of wall excl: its thread was on a CPU.",
       Excl(&R::on_cpu)},
      {{"off_cpu_ns", "incl"},
       "off-CPU",
       Unit::kNanoseconds,
       "wall incl - on-CPU incl.",
       Incl(&R::off_cpu)},
      {{"off_cpu_ns", "excl"},
       "",
       Unit::kNanoseconds,
       "wall excl - on-CPU excl.",
       Excl(&R::off_cpu)},
      {{"wait_ns", "incl"},
       "wait",
       Unit::kNanoseconds,
       "Part of off-CPU incl: runnable but on no CPU, as of threads.",
       Incl(&R::wait)},
      {{"wait_ns", "excl"},
       "",
       Unit::kNanoseconds,
       "Part of off-CPU excl: the same.",
       Excl(&R::wait)},
      {{"blocked_ns", "incl"},
       "blocked",
       Unit::kNanoseconds,
       "Part of off-CPU incl: neither running nor runnable; known if wake-ups "
       "were "
       "recorded (--kernel wakeups).",
       Incl(&R::blocked)},
      {{"blocked_ns", "excl"},
       "",
       Unit::kNanoseconds,
       "Part of off-CPU excl: the same. The rows of wakers say what ended it.",
       Excl(&R::blocked)}};
}

std::vector<Column<SegmentRow>> CertaintyColumns() {
  using R = SegmentRow;
  return {{{"begin_inferred"},
           "",
           Unit::kCount,
           "Exits whose enter was not recorded; not in calls.",
           Field(&R::begin_inferred)},
          {{"end_inferred"},
           "",
           Unit::kCount,
           "Part of calls: the exit was not recorded.",
           Field(&R::end_inferred)},
          {{"quality"},
           "",
           Unit::kQuality,
           "How sure calls and wall_ns are.",
           Field(&R::quality)},
          {{"on_cpu_quality"},
           "",
           Unit::kQuality,
           "How sure on_cpu_ns and off_cpu_ns are.",
           CellPair{[](const R& r) {
                      return r.on_cpu ? CellOf(r.on_cpu_quality) : Cell();
                    },
                    [](R& r, const Cell& cell) {
                      return IsAbsent(cell) || SetCell(cell, r.on_cpu_quality);
                    }}}};
}

}  // namespace

std::vector<Column<SegmentRow>> SegmentColumns(const Report& report,
                                               bool paths) {
  using R = SegmentRow;
  std::vector<Column<R>> columns = {{{"segment"},
                                     "segment",
                                     Unit::kNone,
                                     "provider:name of its hook.",
                                     Shared(&R::segment)}};
  if (paths) {
    columns.push_back({{"path"},
                       "",
                       Unit::kNone,
                       "Segments open at the call, outermost first.",
                       Shared(&R::path)});
  }
  Append<R>(
      {{{"pid"}, "pid", Unit::kId, "Process.", Shared(&R::pid)},
       {{"comm"}, "", Unit::kNone, "Name of the process.", Shared(&R::comm)},
       {{"calls"},
        "calls",
        Unit::kCount,
        "Enters recorded.",
        Field(&R::calls)}},
      columns);
  Append(WallTimeColumns(), columns);
  Append(ThreadTimeColumns(), columns);
  AddErrors(report, columns);
  AddSegmentCounts(report, columns);
  columns.push_back(
      {{"recording_ns"},
       "",
       Unit::kNanoseconds,
       "Part of wall incl: what its hooks and those in it took, estimated.",
       Field(&R::recording_ns)});
  AddProbes("Probes in it (uprobes, USDT, kfunc): not in its times, estimated.",
            columns);
  Append(CertaintyColumns(), columns);
  return columns;
}

}  // namespace countrace::rmap
