// What distinguishes this machine, and the container in it, from others.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_HOST_IDENTITY_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_HOST_IDENTITY_H_

#include <string>
#include <string_view>

namespace countrace::runtime {

// The container's id in the text of /proc/PID/cgroup: the last 64 digits of
// base 16 in a row, as in "docker-ID.scope". Empty: there is none.
std::string ContainerOf(std::string_view cgroups);

// A hash of the machine's id, which must not leave it (machine-id(5));
// FORMAT.md, section 5. Empty: it has no id, or no libsystemd.
std::string MachineHash();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_HOST_IDENTITY_H_
