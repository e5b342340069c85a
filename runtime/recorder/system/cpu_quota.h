// Time in which CPU quotas stopped cgroups, by the kernel's own `cpu.stat`: all
// that is known where no record shows it. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_QUOTA_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_QUOTA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/recorder/system/process_owner.h"

namespace countrace::runtime {

struct QuotaStops {
  std::string cgroup;  // path in its hierarchy
  // A process moved there meanwhile: there may have been more.
  bool at_least = false;
  std::uint64_t ns = 0;     // of all CPUs
  std::uint64_t times = 0;  // periods: nr_throttled
};

// "719 ms by its CPU quota (cpu.stat of /q)".
std::string StopsText(const QuotaStops& stops);

class CpuQuotas {
 public:
  // From now on: the cgroup of `pid` and those above. `late`: it may have been
  // there for some time.
  void Watch(std::int32_t pid, bool late = false);
  // The cgroup at a path in the v2 hierarchy.
  void Watch(const std::string& cgroup);
  // Since then, by cgroup.
  std::vector<QuotaStops> Stops() const;

 private:
  void Watch(const CgroupPlace& place, bool late);

  std::map<std::string, QuotaStops> at_begin_;  // by folder
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_CPU_QUOTA_H_
