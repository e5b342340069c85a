// One BPF program attached to many places of a file by one system call:
// BPF_TRACE_UPROBE_MULTI, Linux 6.6. The kernel then waits once until no CPU
// runs a detached probe, not once a probe. libbpf has it from 1.3 on; this uses
// the system call.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_UPROBE_MULTI_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_UPROBE_MULTI_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

// enum bpf_attach_type of include/uapi/linux/bpf.h (Linux 6.6). A program must
// be loaded with it.
inline constexpr int kUprobeMultiAttachType = 48;

// Bytes of the file, and the cookie that the program sees.
struct UprobePlaces {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> semaphore_offsets;  // 0: none
  std::vector<std::uint64_t> cookies;
};

bool KernelHasUprobeMulti();

// Attaches to all places, or to none. `on_return`: to the returns of the
// functions that begin there. Closing the descriptor detaches. Not open: errno
// says why.
base::ScopedFd AttachUprobes(int program, const std::string& file,
                             const UprobePlaces& places, bool on_return);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_UPROBE_MULTI_H_
