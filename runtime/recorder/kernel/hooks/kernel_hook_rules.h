// The decision of a recording's dump rules for each possible kernel hook. Globs
// are matched here, by name; a BPF program only looks up a number.
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
  // Empty: the defaults apply. For a caller in a named object, offsets are
  // bytes of its file.
  std::vector<DumpRule> rules;
  // countrace_hook_rule by family * COUNTRACE_RULED_NUMBERS + number.
  std::vector<std::uint8_t> answers;
  bool conditional = false;  // a hook has a conditional rule
  // ... with `if` or `from`; with `from`
  bool asks_values = false, asks_callers = false;
  bool stores_values = false;  // the records of a hook have some
  // By countrace_sources_index; empty unless values are compared or stored.
  std::vector<countrace_argument_sources> sources;
  // Index into `sources` of each attachment, by dynamic hook, for the hooks
  // whose values are compared or stored.
  std::map<std::size_t, std::vector<std::uint32_t>> sources_of;
  std::uint64_t tick_ns = 0;
};

// Only the families in `request` are looked up. Empty without rules and stored
// values. Returns: INVALID_ARGUMENT a rule applies to a kernel hook that does
// not have the compared value, or has no caller: the message names both;
// NOT_FOUND the object whose offsets a rule names cannot be found.
absl::StatusOr<KernelHookRules> ResolveKernelHookRules(
    const std::vector<DumpRule>& rules, const KernelHookRequest& request,
    std::uint64_t tick_ns);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_HOOKS_KERNEL_HOOK_RULES_H_
