// Columns of system calls over processes.
#include <vector>

#include "rmap/columns/column_cells.h"
#include "rmap/columns/errno_columns.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {
std::vector<Column<SystemCallRow>> SystemCallColumns(const Report& report) {
  using R = SystemCallRow;
  std::vector<Column<R>> columns = {
      {{"syscall"},
       "system call",
       Unit::kNone,
       "Its name; syscall32:NAME of 32-bit programs.",
       Field(&R::syscall)},
      {{"processes"},
       "processes",
       Unit::kCount,
       "Processes that called it.",
       Field(&R::processes)},
      {{"calls"}, "calls", Unit::kCount, "Enters recorded.", Field(&R::calls)},
      {{"failed"},
       "failed",
       Unit::kCount,
       "Part of calls: they returned an error.",
       [](const R& r) -> Cell { return FailedCalls(r); }},
      {{"wall_ns", "incl"},
       "wall",
       Unit::kNanoseconds,
       "Time from enter to exit.",
       Field(&R::wall_ns)},
      {{"wall_ns", "mean"},
       "mean",
       Unit::kNanoseconds,
       "The same, divided by calls.",
       [](const R& r) -> Cell {
         if (r.calls == 0) return std::monostate();
         return Rounded(static_cast<double>(r.wall_ns) /
                        static_cast<double>(r.calls));
       }},
      {{"wall_ns", "max"},
       "longest",
       Unit::kNanoseconds,
       "Longest call.",
       Field(&R::longest_ns)},
      {{"on_cpu_ns", "incl"},
       "on-CPU",
       Unit::kNanoseconds,
       "Part of wall: its thread was on a CPU.",
       Field(&R::on_cpu_ns)},
      {{"wait_ns", "incl"},
       "wait",
       Unit::kNanoseconds,
       "Part of wall: its thread was runnable but on no CPU.",
       Field(&R::wait_ns)},
      {{"blocked_ns", "incl"},
       "blocked",
       Unit::kNanoseconds,
       "Part of wall: neither running nor runnable; known if wake-ups were "
       "recorded "
       "(--kernel wakeups).",
       Field(&R::blocked_ns)}};
  if (report.system_calls) AddErrnos(report.system_call_rows, columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "How sure its numbers are.",
                     Field(&R::quality)});
  return columns;
}

}  // namespace countrace::rmap
