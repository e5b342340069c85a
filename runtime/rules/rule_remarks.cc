#include "runtime/rules/rule_remarks.h"

#include "absl/strings/str_format.h"
#include "runtime/rules/dump_rule_literal.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::PayloadType;

// Empty if every comparison can hold.
std::string WhyNever(const DumpRule& rule, const HookInfo& hook) {
  const bool from_kernel = hook.origin != logformat::HookOrigin::kProgram;
  // For arguments of a function, the recorder checks this when it attaches the
  // hook.
  const bool interrupt = hook.origin == logformat::HookOrigin::kInterrupt;
  if (interrupt && rule.caller_end != 0) {
    return "`from` needs a caller, and an interrupt has none";
  }
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    const countrace_predicate& predicate = rule.predicates[i];
    if (from_kernel) {
      if (predicate.constant == COUNTRACE_CONSTANT_TEXT ||
          predicate.constant == COUNTRACE_CONSTANT_DOUBLE) {
        return "it is a kernel-side hook, whose values are integers";
      }
      if (interrupt && predicate.argument < COUNTRACE_ARGUMENTS) {
        return "it is an interrupt, which has no arguments";
      }
      continue;
    }
    if (predicate.argument >= hook.payload.size()) {
      return absl::StrFormat("it has no %s (payload-values=%d)",
                             ArgumentName(predicate.argument),
                             hook.payload.size());
    }
    const PayloadType type = hook.payload[predicate.argument];
    const bool is_text = type == PayloadType::kString;
    if (is_text != (predicate.constant == COUNTRACE_CONSTANT_TEXT)) {
      return absl::StrFormat("its arg%d is a %s, which is compared with %s",
                             predicate.argument, is_text ? "text" : "number",
                             is_text ? "\"text\"" : "a number");
    }
    if (type == PayloadType::kDouble &&
        predicate.comparison == COUNTRACE_HAS_BITS) {
      return absl::StrFormat("its arg%d is a double, which has no bits to test",
                             predicate.argument);
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> RuleRemarks(const std::vector<DumpRule>& rules,
                                     const std::vector<HookInfo>& hooks) {
  std::vector<std::string> remarks;
  std::vector<bool> used(rules.size(), false);
  std::size_t hook_count = 0;
  for (const HookInfo& hook : hooks) {
    ++hook_count;
    const int found = FindDumpRule(rules, hook.FullName());
    if (found < 0) continue;
    const auto index = static_cast<std::size_t>(found);
    used[index] = true;
    const std::string why = WhyNever(rules[index], hook);
    if (why.empty()) continue;
    remarks.push_back(absl::StrFormat("Dump rule \"%s\" never holds at %s: %s",
                                      rules[index].text, hook.FullName(), why));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (used[i]) continue;
    remarks.push_back(absl::StrFormat(
        "Dump rule \"%s\" applies to no hook: none of the trace's %d hooks "
        "matches, or an earlier rule applies; `countrace list hooks` shows "
        "them",
        rules[i].text, hook_count));
  }
  return remarks;
}

}  // namespace countrace::runtime
