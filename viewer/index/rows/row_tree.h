// The rows of processes and threads as a tree on demand: what a page shows of a
// range. Processes and threads are ranked by what they did in the range.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_ROW_TREE_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_ROW_TREE_H_

#include <cstdint>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// A thread with rows to draw.
struct ThreadBranch {
  std::uint32_t thread = kNoKey;
  std::uint64_t on_cpu_ns = 0;  // in the range, as in the report of it
  // It ran in the range, waited for a CPU, or has a call or a hook there. Calls
  // and hooks count only in processes with hooks of their own, and where no
  // dispatch is known: a thread is in some system call all the time.
  bool active = false;
  bool calls = false;  // it has segments or hooks
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;  // adjacent, all of the thread, not all drawn
};

// A process that has such threads. Its number is kNoKey for threads of no
// process.
struct ProcessBranch {
  std::uint32_t process = kNoKey;
  std::uint64_t on_cpu_ns = 0;
  bool active = false;
  bool hooked = false;  // it has hooks that are not the kernel's
  std::uint32_t threads = 0, active_threads = 0;
  ThreadBranch first;  // the only one, if it has one
};

// True: a program has it, not the kernel. Its name does not say so: a program
// may have a provider `block`.
bool IsOfPrograms(const HookEntry& hook);

// By process: whether it has hooks of its own.
std::vector<bool> HookedProcesses(const TimelineIndex& index);

// Those that are active and have hooks of their own first, then by on-CPU time
// in the range; idle ones last, as in the whole trace. O(rows log n).
std::vector<ProcessBranch> RankProcesses(const TimelineIndex& index,
                                         TimeRange range);

// The threads of one process: active ones with calls first, then by on-CPU
// time.
std::vector<ThreadBranch> RankThreads(const TimelineIndex& index,
                                      std::uint32_t process, TimeRange range);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_ROW_TREE_H_
