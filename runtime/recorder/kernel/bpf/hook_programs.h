// Which of the BPF programs a request for kernel hooks needs, and where they
// are attached.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_HOOK_PROGRAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_HOOK_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"

struct kernel_programs;  // the generated skeleton
struct bpf_link;

namespace countrace::runtime {

// Before they are loaded: leaves out the programs that `request` does not need,
// and says in `messages` which this kernel cannot have. Returns: 0 or an errno.
int SelectHookPrograms(const KernelHookRequest& request,
                       kernel_programs& skeleton,
                       std::vector<std::string>& messages);

// Attaches what the skeleton does not attach by itself: page faults' ends and
// dynamic hooks; the links are the caller's to destroy. A dynamic hook that
// cannot be attached is left out and named in `messages`.
// Returns: errors of the kernel; NOT_FOUND no dynamic hook could be attached.
absl::Status AttachHookPrograms(const KernelHookRequest& request,
                                const KernelHookRules& rules,
                                const std::vector<std::uint32_t>& cpus,
                                kernel_programs& skeleton,
                                std::vector<bpf_link*>& links,
                                std::vector<std::string>& messages);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_HOOK_PROGRAMS_H_
