#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/kernel/hooks/argument_sources.h"
#include "runtime/recorder/kernel/hooks/caller_range.h"
#include "runtime/recorder/kernel/hooks/hook_spec.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_names.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"
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

absl::Status CannotAsk(const DumpRule& rule, const logformat::HookInfo& hook,
                       const std::string& why) {
  // One glob for 32-bit programs' system calls, too.
  const std::string kind =
      hook.provider.starts_with("syscall") ? "syscall*" : hook.provider;
  return absl::InvalidArgumentError(absl::StrFormat(
      "Dump rule \"%s\" applies to kernel-side hook %s, %s. Put a rule for "
      "such hooks before it, for example --dump '%s:* never'",
      rule.text, hook.FullName(), why, kind));
}

bool HasRet(std::uint32_t family, const DynamicHook* listed) {
  if (listed != nullptr) {
    return (listed->type == DynamicHook::Type::kFunction ||
            listed->type == DynamicHook::Type::kKernelFunction) &&
           listed->kind == logformat::HookKind::kSegment;
  }
  return family == COUNTRACE_FAMILY_SYSCALL ||
         family == COUNTRACE_FAMILY_COMPAT_SYSCALL ||
         family == COUNTRACE_FAMILY_IRQ || family == COUNTRACE_FAMILY_FAULT;
}

bool AsksArguments(const DumpRule& rule) {
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].argument < COUNTRACE_ARGUMENTS) return true;
  }
  return false;
}

// The reason why argument `index` at one place is unknown.
std::string WhyUnknown(unsigned index, const DynamicHook& hook,
                       const HookAttachment& at) {
  if (hook.type == DynamicHook::Type::kTracepoint) {
    return absl::StrFormat(
        "whose tracepoint has no number as field %d (see its format file)",
        index + 1);
  }
  if (hook.type == DynamicHook::Type::kKernelFunction) {
    return "a function of the kernel, of which rules compare `ret` and the "
           "first five arguments, not its caller";
  }
  const auto described = SplitUsdtArguments(at.arguments);
  if (index >= described.size()) {
    return absl::StrFormat("whose probe has %d arguments", described.size());
  }
  return absl::StrFormat(
      "whose arg%d is described as %s: only integer registers, constants and "
      "memory behind registers can be followed",
      index, described[index]);
}

// Evaluates comparisons with `number`, once: it never changes.
bool NumberHolds(const DumpRule& rule, std::uint32_t number) {
  const countrace_rule_value value = {COUNTRACE_RULE_UNSIGNED, number, nullptr,
                                      0};
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].argument == COUNTRACE_ARGUMENT_NUMBER &&
        countrace_predicate_holds(&rule.predicates[i], &value) == 0) {
      return false;
    }
  }
  return true;
}

// True if no condition is left after `number`.
bool IsDecided(DumpRule rule) {
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    if (rule.predicates[i].argument != COUNTRACE_ARGUMENT_NUMBER) return false;
  }
  rule.predicate_count = 0;
  return countrace_rule_is_always(&rule) != 0;
}

class Resolver {
 public:
  Resolver(const std::vector<DumpRule>& rules, const KernelHookRequest& request,
           std::uint64_t tick_ns)
      : rules_(rules), request_(request) {
    resolved_.rules = rules;
    resolved_.tick_ns = tick_ns;
    resolved_.answers.resize(COUNTRACE_HOOK_FAMILIES * COUNTRACE_RULED_NUMBERS,
                             COUNTRACE_RULE_NO_DUMP);
    located_.resize(rules.size());
    sources_ = {countrace_argument_sources{}, SystemCallSources(false),
                SystemCallSources(true), FaultSources(), FunctionSources()};
  }

  absl::StatusOr<KernelHookRules> Resolve();

 private:
  // Checks that `hook` has the values that `rule` compares.
  absl::Status Check(std::size_t rule, const logformat::HookInfo& hook,
                     std::uint32_t family, std::uint32_t number);
  absl::Status CheckPredicate(const DumpRule& rule,
                              const countrace_predicate& predicate,
                              const logformat::HookInfo& hook,
                              std::uint32_t family, std::uint32_t number);
  absl::Status CheckCaller(std::size_t rule, const logformat::HookInfo& hook,
                           std::uint32_t family, const DynamicHook* listed);
  const DynamicHook* Listed(std::uint32_t family, std::uint32_t number) const {
    return family == COUNTRACE_FAMILY_LISTED ? &request_.dynamic[number]
                                             : nullptr;
  }
  // Adds the locations of its values, for each of its places.
  void AddSources(std::size_t number);

  const std::vector<DumpRule>& rules_;
  const KernelHookRequest& request_;
  KernelHookRules resolved_;
  std::vector<countrace_argument_sources> sources_;
  std::vector<bool> located_;  // rules whose caller is a range of a file by now
};

void Resolver::AddSources(std::size_t number) {
  const DynamicHook& hook = request_.dynamic[number];
  std::vector<std::uint32_t>& indices = resolved_.sources_of[number];
  for (const HookAttachment& at : hook.attachments) {
    if (at.stored.count == 0) {
      if (at.place == HookAttachment::Place::kExit) {
        indices.push_back(COUNTRACE_SOURCES_NONE);
        continue;
      }
      if (hook.type == DynamicHook::Type::kFunction) {
        indices.push_back(COUNTRACE_SOURCES_FUNCTION);
        continue;
      }
    }
    indices.push_back(static_cast<std::uint32_t>(sources_.size()));
    sources_.push_back(SourcesOf(hook, at));
    sources_.back().stored = at.stored;
  }
}

absl::Status Resolver::CheckPredicate(const DumpRule& rule,
                                      const countrace_predicate& predicate,
                                      const logformat::HookInfo& hook,
                                      std::uint32_t family,
                                      std::uint32_t number) {
  const DynamicHook* const listed = Listed(family, number);
  if (predicate.constant == COUNTRACE_CONSTANT_TEXT ||
      predicate.constant == COUNTRACE_CONSTANT_DOUBLE) {
    return CannotAsk(rule, hook,
                     "whose values are integers: texts and decimals are for "
                     "the payload of programs' hooks");
  }
  const unsigned argument = predicate.argument;
  if (argument == COUNTRACE_ARGUMENT_NUMBER) {
    if (listed == nullptr) return absl::OkStatus();
    return CannotAsk(rule, hook,
                     "which has no `number`: system calls, interrupts and "
                     "faults have one");
  }
  if (argument == COUNTRACE_ARGUMENT_RET) {
    if (HasRet(family, listed)) return absl::OkStatus();
    return CannotAsk(rule, hook,
                     "which has no `ret`: system calls, functions, interrupt "
                     "lines and faults have one");
  }
  if (listed != nullptr) {
    for (const HookAttachment& at : listed->attachments) {
      if (at.place == HookAttachment::Place::kExit) continue;
      if (SourcesOf(*listed, at).arguments[argument].place ==
          COUNTRACE_VALUE_UNKNOWN) {
        return CannotAsk(rule, hook, WhyUnknown(argument, *listed, at));
      }
    }
    return absl::OkStatus();
  }
  const bool known =
      family == COUNTRACE_FAMILY_SYSCALL ||
      family == COUNTRACE_FAMILY_COMPAT_SYSCALL ||
      (family == COUNTRACE_FAMILY_FAULT &&
       FaultSources().arguments[argument].place != COUNTRACE_VALUE_UNKNOWN);
  if (known) return absl::OkStatus();
  return CannotAsk(rule, hook,
                   absl::StrFormat("which has no arg%d to compare", argument));
}

absl::Status Resolver::CheckCaller(std::size_t index,
                                   const logformat::HookInfo& hook,
                                   std::uint32_t family,
                                   const DynamicHook* listed) {
  const DumpRule& rule = rules_[index];
  const bool has_caller =
      family == COUNTRACE_FAMILY_SYSCALL ||
      family == COUNTRACE_FAMILY_COMPAT_SYSCALL ||
      (listed != nullptr && (listed->type == DynamicHook::Type::kFunction ||
                             listed->type == DynamicHook::Type::kUsdtProbe));
  if (!has_caller) {
    return CannotAsk(rule, hook,
                     "which no code of a program calls: `from` is for "
                     "functions, USDT probes and system calls");
  }
  const bool has_offsets =
      rule.caller[0] != '\0' &&
      rule.caller_end != std::numeric_limits<std::uint64_t>::max();
  if (!has_offsets || located_[index]) return absl::OkStatus();
  std::string path;
  for (const DynamicHook& dynamic : request_.dynamic) {
    for (const HookAttachment& at : dynamic.attachments) {
      const std::string name = at.file.substr(at.file.rfind('/') + 1);
      if (name == rule.caller ||
          name.starts_with(std::string(rule.caller) + ".")) {
        path = at.file;
      }
    }
  }
  if (path.empty()) {
    const auto found = FindObjectFile(rule.caller);
    if (!found.ok()) {
      return absl::NotFoundError(absl::StrFormat(
          "Dump rule \"%s\" applies to kernel-side hook %s, where offsets are "
          "looked up in the file, but no %s is in PATH, in the library folders "
          "or among the files of --hook: name the whole object, or hook one of "
          "its functions",
          rule.text, hook.FullName(), rule.caller));
    }
    path = *found;
  }
  const auto range = CodeRangeInFile(path, rule.caller_begin, rule.caller_end);
  if (!range.ok()) {
    return absl::Status(range.status().code(),
                        absl::StrFormat("Dump rule \"%s\": %s", rule.text,
                                        base::StatusText(range.status())));
  }
  resolved_.rules[index].caller_begin = range->begin;
  resolved_.rules[index].caller_end = range->end;
  located_[index] = true;
  return absl::OkStatus();
}

absl::Status Resolver::Check(std::size_t index, const logformat::HookInfo& hook,
                             std::uint32_t family, std::uint32_t number) {
  const DumpRule& rule = rules_[index];
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    const absl::Status status =
        CheckPredicate(rule, rule.predicates[i], hook, family, number);
    if (!status.ok()) return status;
  }
  if (rule.caller_end == 0) return absl::OkStatus();
  return CheckCaller(index, hook, family, Listed(family, number));
}

absl::StatusOr<KernelHookRules> Resolver::Resolve() {
  for (std::uint32_t family = 0; family < COUNTRACE_HOOK_FAMILIES; ++family) {
    if (!IsAskedFor(request_, family)) continue;
    for (std::uint32_t number = 0; number < COUNTRACE_RULED_NUMBERS; ++number) {
      logformat::HookInfo hook;
      if (!DescribeKernelHook(request_.dynamic, family, number, hook)) break;
      const int found = FindDumpRule(rules_, hook.FullName());
      if (found < 0) continue;
      const auto index = static_cast<std::size_t>(found);
      const DumpRule& rule = rules_[index];
      std::uint8_t& answer =
          resolved_.answers[family * COUNTRACE_RULED_NUMBERS + number];
      if (rule.never != 0) continue;
      const absl::Status status = Check(index, hook, family, number);
      if (!status.ok()) return status;
      if (!NumberHolds(rule, number)) continue;
      if (IsDecided(rule)) {
        answer = COUNTRACE_RULE_DUMP;
        continue;
      }
      answer = static_cast<std::uint8_t>(COUNTRACE_RULE_ASK + index);
      resolved_.conditional = true;
      if (!AsksArguments(rule) && rule.caller_end == 0) continue;
      resolved_.asks_values = true;
      if (rule.caller_end != 0) resolved_.asks_callers = true;
      if (family == COUNTRACE_FAMILY_LISTED) AddSources(number);
    }
  }
  for (std::size_t number = 0; number < request_.dynamic.size(); ++number) {
    if (!StoresValues(request_.dynamic[number])) continue;
    resolved_.stores_values = true;
    if (!resolved_.sources_of.contains(number)) AddSources(number);
  }
  if (resolved_.asks_values || resolved_.stores_values) {
    resolved_.sources = std::move(sources_);
  }
  return std::move(resolved_);
}

}  // namespace

absl::StatusOr<KernelHookRules> ResolveKernelHookRules(
    const std::vector<DumpRule>& rules, const KernelHookRequest& request,
    std::uint64_t tick_ns) {
  const bool stores_values =
      std::any_of(request.dynamic.begin(), request.dynamic.end(), StoresValues);
  if ((rules.empty() && !stores_values) || !request.any()) {
    return KernelHookRules();
  }
  return Resolver(rules, request, tick_ns).Resolve();
}

}  // namespace countrace::runtime
