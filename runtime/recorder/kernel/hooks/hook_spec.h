// The texts of `--kernel` and `--hook`, and their hooks on this machine.
//
//   uprobe:FILE:FUNCTION         a segment: the function, until it returns; in
//                                a Go program a point
//   uprobe-enter:FILE:FUNCTION   a point: the function's first instruction
//   usdt:FILE:PROVIDER:NAME      NAME__enter and NAME__exit as a segment, or
//                                the probe NAME as a point
//   kernel:MODULE:NAME           hooks of countrace_kernel_hooks.h in the
//                                kernel's code: segments and points
//   kfunc:FUNCTION               a function of the kernel: a segment
//   kfunc:MODULE:FUNCTION        the same of a loaded module
//   kfunc-enter:...              the same as a point
//   tracepoint:SYSTEM:NAME       a point
//   tracepoint:SYSTEM:ENTER/EXIT a segment between two tracepoints
//
// Behind FUNCTION or NAME may stand a list of values that the hook's records
// store (hook_values.h): `net_dev_queue(len,name)`. `()` and `(*)`: all, of a
// hook with more the first COUNTRACE_STORED_VALUES. Of a function they are its
// enter's.
//
// FUNCTION, PROVIDER, MODULE and NAME may be globs (glob(7)): each match is a
// hook. FILE is a path, or the name of a program in PATH or of a library.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_SPEC_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_SPEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// More are refused: each needs an attachment and an id.
inline constexpr std::size_t kMaxDynamicHooks = 2048;

// Adds the hooks of `spec` to `request`. Returns: INVALID_ARGUMENT wrong
// syntax, no match (the message gives similar names), or too many; NOT_FOUND no
// such file or tracepoint; PERMISSION_DENIED tracepoints cannot be looked up,
// or a user who is not root requests values.
absl::Status AddDynamicHooks(std::string_view spec, KernelHookRequest& request);

// Whether its records have values.
bool StoresValues(const DynamicHook& hook);

// The path of `file`: itself, or a program of PATH, or a library.
// Returns: NOT_FOUND.
absl::StatusOr<std::string> FindObjectFile(const std::string& file);

// "syscalls", "irq", "softirq", "faults", "block".
const std::vector<std::string>& KernelSegmentWords();

// Adds the kernel segments of one of these words. Returns: INVALID_ARGUMENT
// unknown; the message lists the words.
absl::Status AddKernelSegments(std::string_view word,
                               KernelHookRequest& request);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_HOOK_SPEC_H_
