// The files that system calls use, from the values in their records: a path as
// the call gives it, the file of a descriptor as the kernel or earlier calls
// name it, else `(fd N)`.
//
// In: enters and exits of system calls, tasks, losses. Out: a number of
// ValueTable for each call. Memory: by open descriptors. Thread: one.
#ifndef COUNTRACE_RMAP_VALUES_FILE_CALLS_H_
#define COUNTRACE_RMAP_VALUES_FILE_CALLS_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/values/open_files.h"
#include "rmap/values/value_table.h"

namespace countrace::rmap {

// What a system call does with its file.
enum class FileUse : std::uint8_t { kNone, kOpen, kRead, kWrite, kOther };

struct ThreadState;

// Whose record it is.
struct CallTask {
  std::int32_t pid = 0, tid = 0;
  const ThreadState* thread = nullptr;  // null: it has none
};

class FileCalls {
 public:
  // `values`: must outlive it.
  FileCalls(const logformat::TraceInfo& info, ValueTable& values);

  // A system call of the trace has its file.
  bool any() const { return any_; }
  // kNone: it has none, or is no system call.
  FileUse UseOf(std::uint32_t hook_id) const;
  // The file that the call uses whose enter is `record`.
  // Requires: UseOf(hook_id) != kNone.
  std::uint32_t Enter(const logformat::EventRecord& record,
                      std::uint32_t hook_id, CallTask task);
  // Such a call ended; `file` is Enter()'s. Returns: the bytes that it read or
  // wrote.
  std::uint64_t Exit(const logformat::EventRecord& record,
                     std::uint32_t hook_id, CallTask task, std::uint32_t file);
  // A record of a fork, exec or exit; no effect for others.
  void OnTask(const logformat::EventRecord& record);
  void OnLoss() {
    open_.Forget();
    made_.clear();
  }

 private:
  enum class Change : std::uint8_t { kNone, kOpens, kCopies, kCloses };
  struct Call {
    FileUse use = FileUse::kNone;
    Change change = Change::kNone;
  };
  static Call CallOf(std::string_view name);
  std::uint32_t FileOf(const logformat::EventRecord& record,
                       CallTask task) const;

  ValueTable& values_;
  logformat::NamedValue path_, file_, descriptor_, last_, flags_, command_,
      returned_;
  std::vector<Call> calls_;  // by hook id - kHookIdKernelMin
  bool any_ = false;
  OpenFiles open_;
  // By tid: its call that makes a descriptor, which stays at an exec.
  std::unordered_map<std::int32_t, bool> made_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_VALUES_FILE_CALLS_H_
