// User and system time of the machine, of processes or of a cgroup, as the
// kernel adds them up: /proc/stat, /proc/PID/stat, cpu.stat.
//
// Thread: any.
#ifndef COUNTRACE_CLI_STAT_CPU_TIMES_H_
#define COUNTRACE_CLI_STAT_CPU_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace countrace::cli {

struct CpuTimes {
  std::uint64_t user_ns = 0, system_ns = 0;
};

// `user` has the time of niced programs, `system` that of interrupts; neither
// has what a hypervisor stole. Absent: /proc cannot be read.
std::optional<CpuTimes> TimesOfMachine();
// Absent if one of them has ended. Their children have their own times.
std::optional<CpuTimes> TimesOfProcesses(const std::vector<std::int32_t>& pids);
// `path` begins with / at the root of the v2 hierarchy. Absent: there is none,
// or no such cgroup.
std::optional<CpuTimes> TimesOfCgroup(const std::string& path);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_STAT_CPU_TIMES_H_
