// The name of a kernel hook, by its family and number (kernel_ring.h).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_

#include <cstdint>
#include <vector>

#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// Fills in all but the id. An interrupt line is named by its current handlers.
// `dynamic`: hooks of COUNTRACE_FAMILY_LISTED, by number. False: there is no
// such family, or no such number in `dynamic`.
bool DescribeKernelHook(const std::vector<DynamicHook>& dynamic,
                        std::uint32_t family, std::uint32_t number,
                        logformat::HookInfo& hook);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_NAMES_H_
