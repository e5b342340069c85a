// The threads that exist right now, from /proc.
//
// Thread: any. A thread that ends during the scan is left out silently.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_SCAN_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::runtime {

struct ProcessThread {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::int32_t parent_pid = 0;
  bool is_kernel_thread = false;
  bool has_executed = false;  // exec since its fork
  char state = '?';
  std::string comm;               // at most 15 bytes
  std::uint64_t start_ticks = 0;  // CLOCK_BOOTTIME, _SC_CLK_TCK a second
};

// One line of /proc/PID/stat or /proc/PID/task/TID/stat; `pid` stays 0. Names
// may hold any byte, also ')'.
std::optional<ProcessThread> ParseTaskStat(std::string_view text);

// Threads of all processes, ascending by pid, then tid.
std::vector<ProcessThread> ScanThreads();
// Threads of one process; empty if there is none.
std::vector<ProcessThread> ScanThreadsOf(std::int32_t pid);

// False for a process that has ended or is a zombie.
bool IsProcessAlive(std::int32_t pid);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_SCAN_H_
