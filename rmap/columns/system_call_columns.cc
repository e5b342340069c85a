// Columns of system calls over processes.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/errno_name.h"
#include "rmap/columns/report_columns.h"

namespace countrace::rmap {
namespace {

std::uint64_t Failed(const SystemCallRow& row) {
  std::uint64_t failed = 0;
  for (const auto& [error, calls] : row.errors) failed += calls;
  return failed;
}

// "ENOENT 12, EACCES 1": most calls first.
std::string ErrorsText(const SystemCallRow& row) {
  std::vector<std::pair<int, std::uint64_t>> errors(row.errors.begin(),
                                                    row.errors.end());
  std::stable_sort(
      errors.begin(), errors.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [error, calls] : errors) {
    absl::StrAppendFormat(&text, "%s%s %d", text.empty() ? "" : ", ",
                          ErrnoName(error), calls);
  }
  return text;
}

void AddErrors(const Report& report,
               std::vector<Column<SystemCallRow>>& columns) {
  if (!report.system_calls) return;
  std::set<int> errors;
  for (const SystemCallRow& row : report.system_call_rows) {
    for (const auto& [error, calls] : row.errors) errors.insert(error);
  }
  // A report without rows (EmptyReport()) has them all.
  if (report.system_call_rows.empty()) errors = AllErrnos();
  for (const int error : errors) {
    columns.push_back({{"errors", ErrnoName(error)},
                       "",
                       Unit::kCount,
                       "Part of failed: with this errno.",
                       [error](const SystemCallRow& row) -> Cell {
                         const auto found = row.errors.find(error);
                         if (found == row.errors.end()) {
                           return std::monostate();
                         }
                         return found->second;
                       }});
  }
}

}  // namespace

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
       [](const R& r) -> Cell { return Failed(r); }},
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
  AddErrors(report, columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "How sure its numbers are.",
                     Field(&R::quality)});
  return columns;
}

std::vector<Column<SystemCallRow>> SystemCallTextColumns(
    std::vector<Column<SystemCallRow>> columns) {
  columns.push_back({{"errnos"},
                     "errors",
                     Unit::kNone,
                     "",
                     [](const SystemCallRow& row) -> Cell {
                       if (row.errors.empty()) return std::monostate();
                       return ErrorsText(row);
                     }});
  return columns;
}

}  // namespace countrace::rmap
