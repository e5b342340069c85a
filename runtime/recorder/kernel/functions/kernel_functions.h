// The functions of the kernel and of its modules, and whether a hook may be on
// them.
//
// From /proc/kallsyms and tracefs's available_filter_functions. Thread: any,
// one at a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_FUNCTIONS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_FUNCTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct KernelFunction {
  std::string name;
  std::string module;         // empty: of the kernel itself
  std::string why_not;        // a hook may not be on it; empty: it may
  std::uint64_t address = 0;  // 0: the kernel does not say
};

// `symbols`: /proc/kallsyms; `traceable`: available_filter_functions, empty:
// this kernel does not say. One of a name for each module, by name.
std::vector<KernelFunction> ParseKernelFunctions(std::string_view symbols,
                                                 std::string_view traceable);

// Those of this kernel. Returns: PERMISSION_DENIED, NOT_FOUND.
absl::StatusOr<std::vector<KernelFunction>> ReadKernelFunctions();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_KERNEL_FUNCTIONS_H_
