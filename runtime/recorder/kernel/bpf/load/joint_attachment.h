// Attaches the probes of each file together, by one system call, as far as the
// kernel takes them.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_JOINT_ATTACHMENT_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_JOINT_ATTACHMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/load/uprobe_multi.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"

namespace countrace::runtime {

// What the BPF program sees at an attachment: hook number, place, sources of
// the values that rules compare.
std::uint64_t CookieOf(const KernelHookRequest& request,
                       const KernelHookRules& rules, std::size_t hook,
                       std::size_t attachment);

// As AttachUprobes(): all places of a file or none; not open: errno.
using AttachPlaces = std::function<base::ScopedFd(
    const std::string& file, const UprobePlaces& places, bool on_return)>;

// Adds to `links`. Returns, by dynamic hook, those that are attached with all
// their places. Left out are hooks whose places the kernel refuses, tracepoints
// and hooks in several files: attached one by one, they name their errors.
// With k refused of n: about 2 k log2(n) tries.
std::vector<bool> AttachJointly(const KernelHookRequest& request,
                                const KernelHookRules& rules,
                                const AttachPlaces& attach,
                                std::vector<base::ScopedFd>& links);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_JOINT_ATTACHMENT_H_
