// Rows of Report::files: system calls added up by process and file.
//
// In: their rows by process, system call and file. Out: rows with limits. The
// calls of a process are in one row each, so that its rows add up to theirs.
// Thread: one.
#ifndef COUNTRACE_RMAP_TABLES_ROWS_FILE_ROWS_H_
#define COUNTRACE_RMAP_TABLES_ROWS_FILE_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rmap/result/tables.h"
#include "rmap/tables/rows/call_limits.h"
#include "rmap/values/file_calls.h"

namespace countrace::rmap {

class FileRows {
 public:
  // `calls`: Grouped::argument is their file. No effect if `use` is kNone.
  void Add(const SegmentRow& calls, FileUse use, std::uint64_t moved_bytes);
  // Most time first.
  std::vector<FileRow> Take();

 private:
  struct Sum {
    FileRow row;
    CallLimits limits;
    Bounds opens{0, 0}, reads{0, 0}, writes{0, 0};
    bool bytes_unsure = false;
  };
  std::map<std::pair<ProcessIndex, std::optional<std::string>>, Sum> sums_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_ROWS_FILE_ROWS_H_
