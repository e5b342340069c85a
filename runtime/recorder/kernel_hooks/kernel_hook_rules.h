// What the dump rules of a recording say of each kernel hook there can be:
// globs are matched here, by name, so that a BPF program looks a number up.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel_hooks/kernel_hook_request.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {

struct KernelHookRules {
  std::vector<DumpRule> rules;  // empty: the defaults hold
  // countrace_hook_rule by family * COUNTRACE_RULED_NUMBERS + number.
  std::vector<std::uint8_t> answers;
  bool asks = false;  // some answer is a rule that has to be asked
  std::uint64_t tick_ns = 0;
};

// Only families that `request` asks for are looked up. No rules, or no kernel
// hooks: empty.
// Returns: INVALID_ARGUMENT a rule with `if` or `from` decides for a kernel
// hook, whose records have neither payload nor caller; the message names both.
absl::StatusOr<KernelHookRules> ResolveKernelHookRules(
    const std::vector<DumpRule>& rules, const KernelHookRequest& request,
    std::uint64_t tick_ns);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_
