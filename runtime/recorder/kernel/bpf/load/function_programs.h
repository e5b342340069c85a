// Programs at the kernel's own functions: fentry and fexit where the kernel
// describes the function's type (BTF) and takes them, else kprobes.
//
// The kernel takes an fentry program for one function only: the loaded ones of
// the skeleton are patterns, of which each function gets a copy.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_FUNCTION_PROGRAMS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_FUNCTION_PROGRAMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

struct kernel_programs;  // the generated skeleton
struct bpf_link;
struct bpf_program;

namespace countrace::runtime {

// Call before loading. Returns: 0 or an errno.
int SelectFunctionPrograms(const KernelHookRequest& request,
                           kernel_programs& skeleton);

class FunctionPrograms {
 public:
  // `programs` gets the copies.
  FunctionPrograms(kernel_programs& skeleton,
                   std::vector<base::ScopedFd>& programs);

  // Attaches all places of `hook`, or none. Adds to either list of links.
  // `probed`: by kprobes, also where fentry was wanted.
  // Returns: PERMISSION_DENIED this kernel has neither way, with the options
  // that it is built without; else the kernel's error.
  absl::Status Attach(const DynamicHook& hook,
                      const std::vector<std::uint64_t>& cookies,
                      std::vector<bpf_link*>& probes,
                      std::vector<base::ScopedFd>& traced, bool& probed);

 private:
  // Returns: 0 or an errno.
  int AttachTraced(const HookAttachment& at, std::uint64_t cookie,
                   std::vector<base::ScopedFd>& links);

  kernel_programs& skeleton_;
  std::vector<base::ScopedFd>& programs_;
  std::map<std::string, base::ScopedFd> module_types_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_FUNCTION_PROGRAMS_H_
