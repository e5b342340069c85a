// Columns for what had the CPU of waiting threads.
#include <string>
#include <utility>
#include <vector>

#include "rmap/columns/column_cells.h"
#include "rmap/columns/owner_text.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {

namespace {

std::vector<Column<PreemptorRow>> WaitingColumns(RowsOf of) {
  using R = PreemptorRow;
  std::vector<Column<R>> columns = {{{"pid"},
                                     "pid",
                                     Unit::kId,
                                     "Process whose threads waited.",
                                     Shared(&R::pid)}};
  if (of == RowsOf::kThread) {
    columns.push_back(
        {{"tid"}, "tid", Unit::kId, "Thread that waited.", Shared(&R::tid)});
  }
  columns.push_back(
      {{"comm"}, "command", Unit::kNone, "Its name.", Shared(&R::comm)});
  return columns;
}

// What had its CPU.
std::vector<Column<PreemptorRow>> OccupantColumns(RowsOf of) {
  using R = PreemptorRow;
  std::vector<Column<R>> columns;
  columns.push_back(
      {{"preemptor", "kind"},
       "",
       Unit::kNone,
       "What had its CPU: thread, interrupts, idle, idle_allowed (a CPU on "
       "which it might run was idle for more than 0.5 ms), outside (not "
       "counted), throttled (by a CPU quota), not_known, other (of more kinds "
       "than are "
       "kept).",
       KindCell(&R::preemptor, PreemptorKindName, PreemptorKind::kOther)});
  columns.push_back({{"preemptor", "pid"},
                     "",
                     Unit::kId,
                     "Process that had it, of kind thread.",
                     Field(&R::preemptor, &R::By::pid)});
  if (of == RowsOf::kThread) {
    columns.push_back({{"preemptor", "tid"},
                       "",
                       Unit::kId,
                       "The thread.",
                       Field(&R::preemptor, &R::By::tid)});
  }
  columns.push_back({{"preemptor", "comm"},
                     "",
                     Unit::kNone,
                     "Its name; of kind throttled the waiting thread's cgroup, "
                     "if it is known.",
                     OrAbsent(&R::preemptor, &R::By::comm)});
  return columns;
}

}  // namespace

std::vector<Column<PreemptorRow>> PreemptorColumns(const Report& report) {
  using R = PreemptorRow;
  std::vector<Column<R>> columns = WaitingColumns(report.wanted.preemptors_of);
  Append(OccupantColumns(report.wanted.preemptors_of), columns);
  Append<R>({{{"times"},
              "times",
              Unit::kCount,
              "Stays on the CPU.",
              Field(&R::times)},
             {{"wait_ns"},
              "wait",
              Unit::kNanoseconds,
              "Waiting time in which it had the CPU, over threads.",
              Field(&R::wait_ns)},
             {{"longest_ns"},
              "longest",
              Unit::kNanoseconds,
              "Longest such stay.",
              Field(&R::longest_ns)},
             {{"quality"},
              "",
              Unit::kQuality,
              "bounded: records were lost meanwhile, or its CPU is not known.",
              Field(&R::quality)}},
            columns);
  return columns;
}

std::vector<Column<PreemptorRow>> PreemptorTextColumns(
    const Report& report, const std::vector<Column<PreemptorRow>>& all) {
  using R = PreemptorRow;
  std::vector<Column<R>> columns;
  for (const char* name : {"wait_ns", "times", "longest_ns", "rows"}) {
    for (const Column<R>& column : all) {
      if (column.name.front() == name) columns.push_back(column);
    }
  }
  columns.push_back(
      {{"waiter"},
       "waiting " + OwnerWord(report, report.wanted.preemptors_of),
       Unit::kNone,
       "",
       [](const R& r) -> Cell { return OwnerText(r); }});
  columns.push_back(
      {{"had"}, "its CPU had", Unit::kNone, "", [](const R& r) -> Cell {
         const R::By& by = r.preemptor;
         switch (by.kind) {
           case PreemptorKind::kThread:
             return OwnerText(by.comm, by.pid.value_or(0), by.tid.value_or(0));
           case PreemptorKind::kInterrupts:
             return "[interrupts]";
           case PreemptorKind::kIdle:
             return "[idle]";
           case PreemptorKind::kIdleAllowed:
             return "[idle] although allowed there";
           case PreemptorKind::kOutside:
             return "[outside]";
           case PreemptorKind::kThrottled:
             return by.comm.empty() ? "[quota]" : "[quota of " + by.comm + "]";
           case PreemptorKind::kNotKnown:
             return "[not known]";
           case PreemptorKind::kOther:
             return "[others]";
         }
         return "";
       }});
  return columns;
}

}  // namespace countrace::rmap
