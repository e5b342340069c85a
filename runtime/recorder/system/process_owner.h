// Whose a process is: its user, its cgroup in the v2 hierarchy (or, in the root
// of that, in the v1 hierarchy of the cpu controller), its numbers in
// pid namespaces; from /proc.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_OWNER_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_OWNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// The owner of `pid` now; absent if the process has ended. Parts that /proc
// does not show are "not known".
std::optional<logformat::OwnerRecord> OwnerOf(std::int32_t pid);

// The real user of `pid`; absent if the process has ended.
std::optional<std::uint32_t> RealUser(std::int32_t pid);

// The first cgroup v2 mount; its root need not be the hierarchy's (containers).
// Looked up once.
const std::optional<std::string>& CgroupMount();
// The path of a process's cgroup below the mount: the line "0::/path".
std::optional<std::string> CgroupPath(std::int32_t pid);
// Where a process's cgroup of the cpu controller is, in v1 or v2.
struct CgroupPlace {
  std::string mount, path;
};
std::optional<CgroupPlace> CpuCgroupOf(std::int32_t pid);
// The id of the cgroup at a path below the mount; 0: there is none.
std::uint64_t CgroupId(const std::string& path);
// Inverse, also for a cgroup without processes; empty if it is gone or outside
// the mount. `pid`: a process in it, for callers without CAP_DAC_READ_SEARCH.
std::string CgroupPathOf(std::uint64_t id, std::int32_t pid);
// Paths below the mount of the cgroups whose own name begins with `prefix`, or
// has it behind a '-' ("docker-4f2a....scope"); sorted.
std::vector<std::string> CgroupsNamed(const std::string& prefix);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_OWNER_H_
