#include "runtime/recorder/kernel/hooks/kernel_hook_spec.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/errno_status.h"
#include "base/text/glob.h"
#include "logformat/loss.h"
#include "runtime/recorder/kernel/functions/function_ways.h"
#include "runtime/recorder/kernel/functions/kernel_functions.h"
#include "runtime/recorder/kernel/functions/kernel_types.h"
#include "runtime/recorder/kernel/functions/module_sites.h"
#include "runtime/recorder/kernel/functions/name_lists.h"
#include "runtime/recorder/kernel/hooks/hook_values.h"

namespace countrace::runtime {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;
using logformat::PayloadType;
using Place = HookAttachment::Place;

// More than any recording may have.
constexpr std::size_t kMostFunctions = 4096;

// Where its programs find them.
std::vector<HookValue> ValuesOf(
    const std::optional<KernelPrototype>& prototype) {
  using Kind = KernelArgument::Kind;
  const std::vector<KernelArgument> words(
      COUNTRACE_FUNCTION_ARGUMENTS,
      KernelArgument{"", "64 bits", Kind::kUnsigned, 8});
  std::vector<HookValue> values;
  bool known = true;
  for (const KernelArgument& argument :
       prototype ? prototype->arguments : words) {
    const std::size_t index = values.size();
    HookValue& value = values.emplace_back();
    value.name =
        argument.name.empty() ? absl::StrFormat("arg%d", index) : argument.name;
    value.declared = argument.declared;
    value.type = argument.kind == Kind::kSigned    ? PayloadType::kInt
                 : argument.kind == Kind::kPointer ? PayloadType::kPointer
                 : argument.kind == Kind::kText    ? PayloadType::kString
                                                   : PayloadType::kUnsigned;
    value.as_text = COUNTRACE_TEXT_KERNEL;
    if (argument.kind == Kind::kText) value.text = COUNTRACE_TEXT_KERNEL;
    value.source.place = COUNTRACE_VALUE_HANDED;
    value.source.bytes = static_cast<unsigned char>(argument.bytes);
    value.source.is_signed = argument.kind == Kind::kSigned ? 1 : 0;
    value.source.offset = static_cast<unsigned short>(8 * index);
    value.source.index_offset = COUNTRACE_NO_INDEX;
    if (argument.kind == Kind::kOther) {
      known = false;
      value.unknown = "it is not a number, a pointer or text";
    } else if (!known) {
      value.unknown = "it follows a structure";
    } else if (index >= COUNTRACE_FUNCTION_ARGUMENTS) {
      value.unknown = absl::StrFormat("only the first %d can be stored",
                                      COUNTRACE_FUNCTION_ARGUMENTS);
    }
  }
  return values;
}

absl::StatusOr<DynamicHook> KernelFunctionHook(KernelFunction function,
                                               bool enter_only,
                                               const WantedValues& wanted) {
  DynamicHook hook;
  hook.type = DynamicHook::Type::kKernelFunction;
  hook.provider = function.module.empty() ? "kfunc" : function.module;
  hook.name = function.name;
  hook.location = function.module.empty()
                      ? "kernel function"
                      : "function of module " + function.module;
  hook.kind = enter_only ? HookKind::kPoint : HookKind::kSegment;
  hook.origin = HookOrigin::kKernel;
  HookAttachment at;
  at.function = function.name;
  at.module = function.module;
  at.offset = function.address;
  // One without a way is refused when it is attached, as privileges are.
  at.traced = ChooseWay(function) == FunctionWay::kTraced;
  at.place = enter_only ? Place::kPoint : Place::kEnter;
  const auto prototype = PrototypeOf(function.module, function.name);
  if (wanted.given) {
    const absl::Status chosen =
        ChooseValues(wanted, ValuesOf(prototype), at.stored, hook.values);
    if (!chosen.ok()) {
      return absl::InvalidArgumentError(function.name + ": " +
                                        base::StatusText(chosen));
    }
  }
  hook.attachments.push_back(at);
  if (enter_only) return hook;
  at.place = Place::kExit;
  at.stored = {};
  if (prototype) {
    at.ret_bits = static_cast<std::uint8_t>(8 * prototype->ret.bytes);
    at.ret_is_signed = prototype->ret.kind == KernelArgument::Kind::kSigned;
  }
  hook.attachments.push_back(std::move(at));
  return hook;
}

// All of its values, as programs' hooks have, for root alone. Those of places
// of one name that differ are left out.
void StoreAll(HookAttachment& at, bool first, DynamicHook& hook) {
  if (geteuid() != 0) return;
  WantedValues wanted;
  wanted.given = wanted.all = true;
  HookValues values;
  const absl::Status chosen = ChooseValues(
      wanted, TracepointValues("", at.arguments), at.stored, values);
  if (chosen.ok() && first) hook.values = values;
  if (chosen.ok() && values.types == hook.values.types) return;
  hook.values = {};
  at.stored = {};
  for (HookAttachment& other : hook.attachments) other.stored = {};
}

// Without an exit there are no calls, and without an enter there is nothing.
void ChooseKind(DynamicHook& hook) {
  const auto has = [&hook](Place place) {
    return std::any_of(
        hook.attachments.begin(), hook.attachments.end(),
        [place](const HookAttachment& at) { return at.place == place; });
  };
  if (has(Place::kEnter) && has(Place::kExit)) {
    hook.kind = HookKind::kSegment;
    return;
  }
  std::erase_if(hook.attachments, [](const HookAttachment& at) {
    return at.place == Place::kExit;
  });
  for (HookAttachment& at : hook.attachments) at.place = Place::kPoint;
}

}  // namespace

absl::StatusOr<std::vector<DynamicHook>> ReadModuleHooks(
    const std::string& provider_glob) {
  const auto sites = ReadModuleSites(provider_glob);
  if (!sites.ok()) return sites.status();
  std::vector<DynamicHook> hooks;
  for (const ModuleSite& site : *sites) {
    const bool first = hooks.empty() ||
                       hooks.back().provider != site.provider ||
                       hooks.back().name != site.name;
    if (first) {
      DynamicHook& hook = hooks.emplace_back();
      hook.type = DynamicHook::Type::kTracepoint;
      hook.provider = site.provider;
      hook.name = site.name;
      hook.location = site.location;
      hook.origin = HookOrigin::kKernel;
    }
    HookAttachment at;
    at.tracepoint = site.tracepoint;
    at.arguments = site.format;
    at.place = site.kind == ModuleSite::Kind::kEnter  ? Place::kEnter
               : site.kind == ModuleSite::Kind::kExit ? Place::kExit
                                                      : Place::kPoint;
    if (at.place != Place::kExit) StoreAll(at, first, hooks.back());
    hooks.back().attachments.push_back(std::move(at));
  }
  for (DynamicHook& hook : hooks) ChooseKind(hook);
  std::erase_if(
      hooks, [](const DynamicHook& hook) { return hook.attachments.empty(); });
  return hooks;
}

absl::StatusOr<std::vector<DynamicHook>> ModuleHooks(
    const std::string& provider_glob, const std::string& name_glob) {
  auto hooks = ReadModuleHooks(provider_glob);
  if (!hooks.ok()) return hooks.status();
  std::vector<std::string> names;
  for (const DynamicHook& hook : *hooks) names.push_back(hook.name);
  std::erase_if(*hooks, [&name_glob](const DynamicHook& hook) {
    return !base::GlobMatches(name_glob.c_str(), hook.name.c_str());
  });
  if (!hooks->empty()) return hooks;
  if (!names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("no hook of %s matches \"%s\"%s", provider_glob,
                        name_glob, NearNames(name_glob, names)));
  }
  const std::string words = KernelWordsAbout(provider_glob);
  return absl::InvalidArgumentError(absl::StrFormat(
      "no loaded module has a hook of countrace_kernel_hooks.h whose provider "
      "is %s; `countrace hooks list -k` shows all%s",
      provider_glob,
      words.empty() ? ""
                    : absl::StrFormat(". The kernel's log says: %s. A module "
                                      "must be built for the kernel that runs",
                                      words)));
}

absl::StatusOr<std::vector<DynamicHook>> KernelFunctionHooks(
    std::string_view spec, std::vector<logformat::NotRecorded>& left_out) {
  std::string text(spec);
  const auto wanted = TakeValueList(text);
  if (!wanted.ok()) return wanted.status();
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 2));
  const bool enter_only = parts.front() == "kfunc-enter";
  // Null: of any.
  const std::string* const module = parts.size() == 3 ? &parts[1] : nullptr;
  const std::string& glob = parts.back();
  const auto functions = ReadKernelFunctions();
  if (!functions.ok()) return functions.status();
  std::vector<DynamicHook> hooks;
  std::vector<std::string> others, refused;
  std::string why_not;
  for (const KernelFunction& function : *functions) {
    if (module != nullptr && function.module != *module) continue;
    if (!base::GlobMatches(glob.c_str(), function.name.c_str())) {
      others.push_back(function.name);
      continue;
    }
    if (!function.why_not.empty()) {
      refused.push_back(function.name);
      why_not = function.why_not;
      continue;
    }
    // More are refused; those need no look-up of their arguments.
    if (hooks.size() > kMostFunctions) break;
    auto hook = KernelFunctionHook(function, enter_only, *wanted);
    if (!hook.ok()) return hook.status();
    hooks.push_back(*std::move(hook));
  }
  const std::string why =
      absl::StrFormat("no hook may be on %s: %s", SomeOf(refused), why_not);
  if (hooks.empty() && !refused.empty()) {
    return absl::InvalidArgumentError(why);
  }
  if (!refused.empty()) {
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat("Not recorded of %s: %s; `countrace list functions "
                        "kernel` says why of each",
                        spec, why),
        refused.size()));
  }
  if (!hooks.empty()) return hooks;
  if (others.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "no module %s is loaded", module == nullptr ? "" : *module));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "no function of %s matches \"%s\" (the compiler may have inlined it)%s",
      module == nullptr ? "this kernel" : *module, glob,
      NearNames(glob, others)));
}

}  // namespace countrace::runtime
