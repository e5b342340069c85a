// Errors of libbpf. It reports their reasons only in its log: ours include its
// last warning.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_ERROR_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_ERROR_H_

#include <bpf/libbpf.h>

#include <string>

#include "absl/status/status.h"

namespace countrace::runtime {

// While it lives, libbpf prints nothing, and this thread's last warning is kept
// for BpfError(). One at a time.
class KeptWarnings {
 public:
  KeptWarnings();
  ~KeptWarnings();
  KeptWarnings(const KeptWarnings&) = delete;
  KeptWarnings& operator=(const KeptWarnings&) = delete;

 private:
  const libbpf_print_fn_t old_print_;
};

// Returns: UNIMPLEMENTED if this kernel lacks something, else the code of
// `error`, an errno.
absl::Status BpfError(int error, const std::string& what);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_ERROR_H_
