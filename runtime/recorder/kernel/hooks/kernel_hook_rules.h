// What the dump rules of a recording say of each kernel hook there can be:
// globs are matched here, by name, so that a BPF program looks a number up.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/hooks/argument_source.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {

struct KernelHookRules {
  // Empty: the defaults hold. Offsets of a caller in a named object are bytes
  // of its file here.
  std::vector<DumpRule> rules;
  // countrace_hook_rule by family * COUNTRACE_RULED_NUMBERS + number.
  std::vector<std::uint8_t> answers;
  bool asks = false;  // some answer is a rule that has to be asked
  // ... with `if` or `from`, with `from`
  bool asks_values = false, asks_callers = false;
  // By countrace_sources_index; empty unless values are asked.
  std::vector<countrace_argument_sources> sources;
  // Index into `sources` of each attachment, by dynamic hook; hooks whose rule
  // asks no value are not in it.
  std::map<std::size_t, std::vector<std::uint32_t>> sources_of;
  std::uint64_t tick_ns = 0;
};

// Only families that `request` asks for are looked up. No rules, or no kernel
// hooks: empty.
// Returns: INVALID_ARGUMENT a rule decides for a kernel hook which does not
// have the value it compares, or has no caller: the message names both;
// NOT_FOUND the object whose offsets a rule names cannot be found.
absl::StatusOr<KernelHookRules> ResolveKernelHookRules(
    const std::vector<DumpRule>& rules, const KernelHookRequest& request,
    std::uint64_t tick_ns);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_
