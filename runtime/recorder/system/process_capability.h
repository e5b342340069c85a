// What this process may do: its effective capabilities, and where they count.
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_CAPABILITY_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_CAPABILITY_H_

#include <string>

namespace countrace::runtime {

// Missing in the oldest supported headers (Debian 12).
inline constexpr unsigned kCapPerfmon = 38;
inline constexpr unsigned kCapBpf = 39;

// `number`: CAP_... of linux/capability.h.
bool HasCapability(unsigned number);

// False in a user namespace of its own, as in a rootless container: the
// kernel's records need privilege in the initial one, and root here has none
// there. True also where /proc does not say.
bool InInitialUserNamespace();

// "CAP_BPF and CAP_PERFMON": the capabilities that the BPF back end needs and
// this process lacks; empty if it has them all.
std::string MissingBpfCapabilities();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PROCESS_CAPABILITY_H_
