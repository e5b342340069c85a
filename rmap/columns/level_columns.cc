// The table of levels.
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_columns.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

std::vector<Column<LevelRow>> LevelColumns(const Report& report) {
  using R = LevelRow;
  std::vector<Column<R>> columns = {
      {{"level"},
       "level",
       Unit::kNone,
       "Its name, `provider:name`.",
       Shared(&R::level)},
      {{"scope"},
       "of",
       Unit::kNone,
       "Whose state it is: thread, process, machine.",
       Shared(&R::scope)},
      {{"pid"},
       "pid",
       Unit::kId,
       "Process; absent of the machine.",
       OrAbsent(&R::pid)},
      {{"tid"},
       "tid",
       Unit::kId,
       "Thread; absent of a process or the machine.",
       OrAbsent(&R::tid)},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name of the process or thread.",
       OrAbsent(&R::comm)},
      {{"times"},
       "raised",
       Unit::kCount,
       "Times it was raised.",
       Field(&R::times)},
      {{"up_ns"},
       "up",
       Unit::kNanoseconds,
       "Time it was up.",
       Field(&R::up_ns)},
      {{"on_cpu_ns"},
       "on-CPU",
       Unit::kNanoseconds,
       "On-CPU time of its threads meanwhile.",
       Field(&R::on_cpu_ns)}};
  AddCounts(report, UnitOfEvent, columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "inferred: a count between two dumps was split by time; "
                     "bounded: a change may be lost.",
                     Field(&R::quality)});
  return columns;
}

}  // namespace

Table<LevelRow> LevelTable() {
  return {.by = ReportBy::kLevel,
          .option = "level",
          .name = "levels",
          .title = "LEVELS",
          .meaning =
              "Levels that programs raised (COUNTRACE_LEVEL), and what their "
              "threads used meanwhile. They overlap.",
          .rows = &Report::levels,
          .columns = LevelColumns,
          .sum = "up_ns",
          .keys = {"level", "scope"},
          .order = {"up_ns"},
          .recorded = [](const Report& r) { return r.has_levels; },
          .not_recorded =
              "no level was recorded: COUNTRACE_LEVEL of countrace/hooks.h "
              "raises and lowers one"};
}

}  // namespace countrace::rmap
