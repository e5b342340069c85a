// The BPF programs that a request for kernel hooks needs, and their
// attachments.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_HOOK_PROGRAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_HOOK_PROGRAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"

struct kernel_programs;  // the generated skeleton
struct bpf_link;

namespace countrace::runtime {

// Call before loading: leaves out the programs that `request` does not need,
// and adds a message for each that this kernel cannot run. Returns: 0 or an
// errno.
int SelectHookPrograms(const KernelHookRequest& request,
                       kernel_programs& skeleton,
                       std::vector<logformat::NotRecorded>& left_out);

// Attaches the programs of system calls and faults as segments, or, with
// `attach` false, detaches them. `fault_ends`: links of the ends of faults.
// Returns: errors of the kernel; then they may be attached in part.
absl::Status AttachCalls(bool attach, const std::vector<std::uint32_t>& cpus,
                         kernel_programs& skeleton,
                         std::vector<bpf_link*>& fault_ends);

// Attaches the programs that the skeleton does not attach by itself: dynamic
// hooks. The caller destroys the links; `joint_links`
// are those of many probes of a file, and of kernel functions, whose own
// programs are added to `programs`. `not_traced`: those of kernel functions,
// by number, of which fentry was wanted and refused. A dynamic hook that cannot
// be attached is left out and named in `left_out`. Returns: errors of the
// kernel; NOT_FOUND no dynamic hook could be attached.
absl::Status AttachHookPrograms(const KernelHookRequest& request,
                                const KernelHookRules& rules, std::uint32_t cpu,
                                kernel_programs& skeleton,
                                std::vector<bpf_link*>& links,
                                std::vector<base::ScopedFd>& joint_links,
                                std::vector<base::ScopedFd>& programs,
                                std::vector<std::size_t>& not_traced,
                                std::vector<logformat::NotRecorded>& left_out);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_HOOK_PROGRAMS_H_
