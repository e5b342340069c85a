// User and system time of the threads of `countrace stat`, and of all of them.
//
//   Report, ThreadTimes of the machine -> a part for each row -> text, JSON
#ifndef COUNTRACE_CLI_STAT_STAT_THREAD_TIMES_H_
#define COUNTRACE_CLI_STAT_STAT_THREAD_TIMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/stat/cpu_times.h"
#include "rmap/result/tables.h"
#include "rmap/stat/stat_numbers.h"
#include "runtime/recorder/system/thread_times.h"

namespace countrace::cli {

struct ThreadSplit {
  std::size_t row = 0;  // of Report::threads
  CpuTimes ticks;       // what the kernel's clock ticks found
  // user, system: of the row's on-CPU time, with intervals. Empty: no clock
  // tick found the thread on a CPU, so all is possible.
  std::vector<rmap::StatNumber> parts;
};

// Threads whose times are known and that were on a CPU, most CPU time first.
std::vector<ThreadSplit> SplitThreads(
    const rmap::Report& report, const std::vector<runtime::ThreadTimes>& times);

// In what proportion all threads divide their time; 0: no clock tick found one.
// Threads of 0.1 s and more count by their own ticks, as getrusage(2) has it,
// the others by the sum of theirs.
CpuTimes TimesOfThreads(const rmap::Report& report,
                        const std::vector<ThreadSplit>& splits);

// A table of at most `rows` threads, 0: all.
std::string ThreadSplitText(const rmap::Report& report,
                            const std::vector<ThreadSplit>& splits,
                            std::size_t rows);
// `report_json` with user_time and system_time in the rows of threads.
std::string WithThreadSplits(const std::string& report_json,
                             const rmap::Report& report,
                             const std::vector<ThreadSplit>& splits);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_STAT_THREAD_TIMES_H_
