// The name of a kernel hook, by its family and number (kernel_ring.h), and
// those of its arguments.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// Fills in all but the id. An interrupt line is named by its current handlers.
// `dynamic`: hooks of COUNTRACE_FAMILY_LISTED, by number. False: there is no
// such family, or no such number in `dynamic`.
bool DescribeKernelHook(const std::vector<DynamicHook>& dynamic,
                        std::uint32_t family, std::uint32_t number,
                        logformat::HookInfo& hook);

// Where the arguments of one place of a dynamic hook are; with the type that
// its list gives them.
countrace_argument_sources SourcesOf(const DynamicHook& hook,
                                     const HookAttachment& at);

// The names of arg0 to arg5 of kernel-side hooks, for dump rules. A system call
// has the names of its format file, a tracepoint those of its format file and
// its list, a probe those of its list. Thread: one.
class ArgumentNames {
 public:
  // `request` must outlive it.
  explicit ArgumentNames(const KernelHookRequest& request)
      : request_(request) {}

  // The number of the argument that has the name in each hook that `glob`
  // matches. Returns: INVALID_ARGUMENT a hook has none (the message has those
  // that there are), or two hooks differ, or no hook matches; errors of
  // tracefs.
  absl::StatusOr<unsigned char> Find(std::string_view glob,
                                     std::string_view name);

 private:
  const KernelHookRequest& request_;
  std::vector<SyscallArguments> calls_;  // read when they are asked for
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_
