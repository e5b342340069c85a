#include "runtime/recorder/kernel_hooks/kernel_hook_rules.h"

#include "absl/strings/str_format.h"
#include "runtime/recorder/bpf/kernel_ring.h"
#include "runtime/recorder/kernel_hooks/hook_spec.h"
#include "runtime/recorder/kernel_hooks/kernel_hook_names.h"
#include "runtime/rules/dump_rule_eval.h"

namespace countrace::runtime {
namespace {

static_assert(kMaxDynamicHooks <= COUNTRACE_RULED_NUMBERS);
static_assert(COUNTRACE_RULE_ASK + COUNTRACE_MAX_DUMP_RULES <= 256);

bool IsAskedFor(const KernelHookRequest& request, std::uint32_t family) {
  switch (family) {
    case COUNTRACE_FAMILY_SYSCALL:
    case COUNTRACE_FAMILY_COMPAT_SYSCALL:
      return request.syscalls;
    case COUNTRACE_FAMILY_IRQ:
    case COUNTRACE_FAMILY_VECTOR:
      return request.irqs;
    case COUNTRACE_FAMILY_SOFTIRQ:
      return request.softirqs;
    case COUNTRACE_FAMILY_FAULT:
      return request.faults;
    default:
      return true;  // the list ends where it ends
  }
}

absl::Status CannotAsk(const DumpRule& rule, const logformat::HookInfo& hook) {
  const bool payload = rule.predicate_count != 0;
  // One glob for 32-bit programs' system calls, too.
  const std::string kind =
      hook.provider.starts_with("syscall") ? "syscall*" : hook.provider;
  return absl::InvalidArgumentError(absl::StrFormat(
      "Dump rule \"%s\" decides for kernel-side hook %s, whose records have no "
      "%s: `%s` is for hooks of programs. Put a rule for kernel-side hooks "
      "before it, for example --dump '%s:* never'",
      rule.text, hook.FullName(), payload ? "payload" : "caller",
      payload ? "if" : "from", kind));
}

}  // namespace

absl::StatusOr<KernelHookRules> ResolveKernelHookRules(
    const std::vector<DumpRule>& rules, const KernelHookRequest& request,
    std::uint64_t tick_ns) {
  KernelHookRules resolved;
  if (rules.empty() || !request.any()) return resolved;
  resolved.rules = rules;
  resolved.tick_ns = tick_ns;
  resolved.answers.resize(COUNTRACE_HOOK_FAMILIES * COUNTRACE_RULED_NUMBERS,
                          COUNTRACE_RULE_NO_DUMP);
  for (std::uint32_t family = 0; family < COUNTRACE_HOOK_FAMILIES; ++family) {
    if (!IsAskedFor(request, family)) continue;
    for (std::uint32_t number = 0; number < COUNTRACE_RULED_NUMBERS; ++number) {
      logformat::HookInfo hook;
      if (!DescribeKernelHook(request.dynamic, family, number, hook)) break;
      const int found = FindDumpRule(rules, hook.FullName());
      if (found < 0) continue;
      const auto index = static_cast<std::size_t>(found);
      const DumpRule& rule = rules[index];
      std::uint8_t& answer =
          resolved.answers[family * COUNTRACE_RULED_NUMBERS + number];
      if (rule.never != 0) continue;
      if (rule.predicate_count != 0 || rule.caller_end != 0) {
        return CannotAsk(rule, hook);
      }
      if (countrace_rule_is_always(&rule) != 0) {
        answer = COUNTRACE_RULE_DUMP;
        continue;
      }
      answer = static_cast<std::uint8_t>(COUNTRACE_RULE_ASK + index);
      resolved.asks = true;
    }
  }
  return resolved;
}

}  // namespace countrace::runtime
