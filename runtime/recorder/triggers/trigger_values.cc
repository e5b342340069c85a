#include "runtime/recorder/triggers/trigger_values.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <variant>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/glob.h"
#include "runtime/rules/dump_rule_eval.h"

namespace countrace::runtime {
namespace {

template <typename T>
std::uint64_t BitsOf(T value) {
  std::uint64_t bits = 0;
  static_assert(sizeof(value) == sizeof(bits));
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

struct AsRuleValue {
  countrace_rule_value operator()(std::monostate) const { return {}; }
  countrace_rule_value operator()(std::uint64_t value) const {
    return {COUNTRACE_RULE_UNSIGNED, value, nullptr, 0};
  }
  countrace_rule_value operator()(std::int64_t value) const {
    return {COUNTRACE_RULE_INT, BitsOf(value), nullptr, 0};
  }
  countrace_rule_value operator()(double value) const {
    return {COUNTRACE_RULE_DOUBLE, BitsOf(value), nullptr, 0};
  }
  countrace_rule_value operator()(logformat::PointerValue value) const {
    return {COUNTRACE_RULE_POINTER, value.address, nullptr, 0};
  }
  countrace_rule_value operator()(std::string_view text) const {
    return {COUNTRACE_RULE_STRING, 0, text.data(), text.size()};
  }
};

}  // namespace

TriggerValues::TriggerValues(const std::vector<Trigger>& triggers)
    : triggers_(triggers) {
  for (std::size_t i = 0; i < triggers.size(); ++i) {
    for (const Trigger::Comparison& comparison : triggers[i].values) {
      values_.push_back({i, comparison.predicate, comparison.value,
                         logformat::NamedValue({}, {})});
    }
  }
}

void TriggerValues::SetHooks(const logformat::TraceInfo& info) {
  if (!any()) return;
  for (Compared& compared : values_) {
    compared.value = logformat::NamedValue(info, {compared.name});
  }
  hooks_ = info.hooks;
}

std::uint32_t TriggerValues::Failed(
    const logformat::EventRecord& record) const {
  std::uint32_t failed = 0;
  for (const Compared& compared : values_) {
    const countrace_rule_value value =
        std::visit(AsRuleValue(), compared.value.Of(record));
    if (value.type == 0 ||
        countrace_predicate_holds(&compared.predicate, &value) == 0) {
      failed |= 1u << compared.trigger;
    }
  }
  return failed;
}

std::string TriggerValues::Missing(std::size_t i) const {
  const std::string& glob = triggers_[i].glob;
  for (const Compared& compared : values_) {
    if (compared.trigger != i) continue;
    bool found = false;
    std::set<std::string> names;
    for (const logformat::HookInfo& hook : hooks_) {
      if (!base::GlobMatches(glob.c_str(), hook.FullName().c_str())) continue;
      found |= compared.value.IsOf(hook.id);
      logformat::TraceInfo alone;
      alone.hooks = {hook};
      for (const auto& [name, integer] :
           logformat::ValueNames(alone, /*exits=*/false)) {
        names.insert(name);
      }
    }
    if (found) continue;
    return absl::StrFormat(
        "its hooks have no value \"%s\"; they have: %s", compared.name,
        names.empty() ? "none (system calls have theirs with --args)"
                      : absl::StrJoin(names, ", "));
  }
  return {};
}

}  // namespace countrace::runtime
