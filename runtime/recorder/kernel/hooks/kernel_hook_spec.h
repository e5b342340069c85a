// The forms of --hook for the kernel's own code (hook_spec.h): kfunc: and
// kernel:.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_SPEC_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_SPEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"

namespace countrace::runtime {

// The hooks of modules whose provider matches: the places of one name are one
// hook, a segment if it has an enter and an exit. Returns: as Tracefs::Open().
absl::StatusOr<std::vector<DynamicHook>> ReadModuleHooks(
    const std::string& provider_glob);

// Those of kernel:PROVIDER:NAME, at least one. Returns: INVALID_ARGUMENT there
// are none, and which are similar; as Tracefs::Open().
absl::StatusOr<std::vector<DynamicHook>> ModuleHooks(
    const std::string& provider_glob, const std::string& name_glob);

// Those of kfunc:..., at least one. Adds to `left_out` functions that may have
// none. Returns: as ModuleHooks().
absl::StatusOr<std::vector<DynamicHook>> KernelFunctionHooks(
    std::string_view spec, std::vector<logformat::NotRecorded>& left_out);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_SPEC_H_
