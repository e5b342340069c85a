// The table of files.
#include "rmap/columns/column_cells.h"
#include "rmap/columns/errno_columns.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

std::vector<Column<FileRow>> FileTimes() {
  using R = FileRow;
  return {{{"wall_ns", "incl"},
           "wall",
           Unit::kNanoseconds,
           "Time in them, from enter to exit.",
           Field(&R::wall_ns)},
          {{"wall_ns", "max"},
           "longest",
           Unit::kNanoseconds,
           "Longest call.",
           Field(&R::longest_ns)},
          {{"on_cpu_ns", "incl"},
           "",
           Unit::kNanoseconds,
           "Part of wall: its thread was on a CPU.",
           Field(&R::on_cpu_ns)},
          {{"wait_ns", "incl"},
           "",
           Unit::kNanoseconds,
           "Part of wall: its thread was runnable but on no CPU.",
           Field(&R::wait_ns)},
          {{"blocked_ns", "incl"},
           "blocked",
           Unit::kNanoseconds,
           "Part of wall: neither running nor runnable; known if wake-ups were "
           "recorded.",
           Field(&R::blocked_ns)}};
}

std::vector<Column<FileRow>> FileCounts() {
  using R = FileRow;
  return {{{"calls"},
           "calls",
           Unit::kCount,
           "System calls that name the file, or have a descriptor of it.",
           Field(&R::calls)},
          {{"opens"},
           "opens",
           Unit::kCount,
           "Part of calls: open, openat, openat2, creat.",
           Field(&R::opens)},
          {{"failed_opens"},
           "failed opens",
           Unit::kCount,
           "Part of opens: they returned an error.",
           Field(&R::failed_opens)},
          {{"reads"},
           "reads",
           Unit::kCount,
           "Part of calls: read and its kin, and receiving.",
           Field(&R::reads)},
          {{"writes"},
           "writes",
           Unit::kCount,
           "Part of calls: write and its kin, and sending.",
           Field(&R::writes)},
          {{"bytes", "read"},
           "read bytes",
           Unit::kCount,
           "Bytes that reads returned.",
           Field(&R::read_bytes)},
          {{"bytes", "written"},
           "written bytes",
           Unit::kCount,
           "Bytes that writes returned.",
           Field(&R::written_bytes)}};
}

std::vector<Column<FileRow>> FileColumns(const Report& report) {
  using R = FileRow;
  std::vector<Column<R>> columns = {
      {{"file"},
       "file",
       Unit::kNone,
       "A path as the calls give it, or the file of their descriptor; (fd N): "
       "that is not known; absent: the values of the calls are not.",
       Field(&R::file)},
      {{"pid"}, "pid", Unit::kId, "Process.", Shared(&R::pid)},
      {{"comm"},
       "command",
       Unit::kNone,
       "Name of the process.",
       Shared(&R::comm)}};
  Append(FileCounts(), columns);
  columns.push_back({{"failed"},
                     "failed",
                     Unit::kCount,
                     "Part of calls: they returned an error.",
                     [](const R& r) -> Cell { return FailedCalls(r); }});
  Append(FileTimes(), columns);
  if (report.file_values) AddErrnos(report.files, columns);
  columns.push_back({{"quality"},
                     "",
                     Unit::kQuality,
                     "How sure its numbers are.",
                     Field(&R::quality)});
  return columns;
}

}  // namespace

Table<FileRow> FileTable() {
  return {
      .by = ReportBy::kFile,
      .option = "file",
      .name = "files",
      .title = "FILES",
      .meaning = "System calls of a process, by the file that they use.",
      .rows = &Report::files,
      .columns = FileColumns,
      .sum = "wall_ns.incl",
      .keys = {"file"},
      .order = {"wall_ns.incl", "calls"},
      .recorded = [](const Report& r) { return r.file_values; },
      .not_recorded =
          "no system calls with their values were recorded: record --kernel "
          "syscalls --args shows their files (source files of samples: "
          "report --by source)"};
}

}  // namespace countrace::rmap
