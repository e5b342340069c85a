#include "runtime/recorder/kernel/hooks/kernel_hook_names.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/posix/small_file.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "base/text/trim.h"
#include "logformat/rules/dump_rule.h"
#include "runtime/recorder/kernel/hooks/argument_sources.h"
#include "runtime/recorder/kernel/hooks/hook_values.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"
#include "runtime/recorder/system/syscall_names.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::HookKind;
using logformat::HookOrigin;

// Order of countrace_vector.
constexpr std::string_view kVectors[] = {
    "local_timer",          "reschedule", "call_function",
    "call_function_single", "irq_work",   "x86_platform_ipi"};
// Order of the kernel's enum (include/linux/interrupt.h).
constexpr std::string_view kSoftirqs[] = {
    "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

template <std::size_t N>
std::string NameIn(const std::string_view (&names)[N], std::uint32_t number) {
  if (number < N) return std::string(names[number]);
  return absl::StrFormat("%d", number);
}

// "24:virtio0-requests": the line and the devices of its handlers.
std::string LineName(std::uint32_t line) {
  const auto actions =
      base::ReadSmallFile(absl::StrFormat("/sys/kernel/irq/%d/actions", line));
  const std::string_view names =
      actions.ok() ? base::Trim(*actions) : std::string_view();
  if (names.empty()) return absl::StrFormat("%d", line);
  return absl::StrFormat("%d:%s", line, names);
}

// A name must be one field of a line.
std::string OneField(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\t", "?"}, {"\n", "?"}});
}

// --- the names of arguments ---

// Names with the numbers of their arguments.
using Names = std::vector<std::pair<std::string, unsigned char>>;

bool IsSamePlace(const countrace_value_source& a,
                 const countrace_value_source& b) {
  return a.place == b.place && a.offset == b.offset &&
         a.displacement == b.displacement && a.index_offset == b.index_offset;
}

// The argument that a stored number is; COUNTRACE_ARGUMENTS: none.
unsigned ArgumentOf(const countrace_argument_sources& sources,
                    const countrace_stored_values& stored, unsigned value) {
  if ((stored.texts >> value & 1) != 0) return COUNTRACE_ARGUMENTS;
  unsigned argument = 0;
  while (argument < COUNTRACE_ARGUMENTS &&
         !IsSamePlace(sources.arguments[argument], stored.values[value])) {
    ++argument;
  }
  return argument;
}

countrace_argument_sources Described(const DynamicHook& hook,
                                     const HookAttachment& at) {
  switch (hook.type) {
    case DynamicHook::Type::kFunction:
      return FunctionSources();
    case DynamicHook::Type::kUsdtProbe:
      return UsdtSources(at.arguments);
    case DynamicHook::Type::kTracepoint:
      return TracepointSources(at.arguments);
    case DynamicHook::Type::kKernelFunction:
      return KernelFunctionSources();
  }
  return {};
}

Names NamesOf(const DynamicHook& hook) {
  Names names;
  const auto at = std::ranges::find_if(hook.attachments, [](const auto& place) {
    return place.place != HookAttachment::Place::kExit;
  });
  if (at == hook.attachments.end()) return names;
  const countrace_argument_sources sources = Described(hook, *at);
  if (hook.type == DynamicHook::Type::kTracepoint) {
    for (const HookValue& value :
         TracepointValues(hook.provider, at->arguments)) {
      const auto place = std::ranges::find_if(
          sources.arguments, [&](const countrace_value_source& source) {
            return source.place != COUNTRACE_VALUE_UNKNOWN &&
                   IsSamePlace(source, value.source);
          });
      if (place == std::end(sources.arguments)) continue;
      names.emplace_back(
          value.name,
          static_cast<unsigned char>(place - std::begin(sources.arguments)));
    }
  }
  for (unsigned i = 0; i < at->stored.count; ++i) {
    const unsigned argument = ArgumentOf(sources, at->stored, i);
    if (argument == COUNTRACE_ARGUMENTS) continue;
    names.emplace_back(hook.values.names[i],
                       static_cast<unsigned char>(argument));
  }
  return names;
}

Names NamesOf(const SyscallArguments& call) {
  Names names;
  for (const SyscallArgument& argument : call.arguments) {
    names.emplace_back(argument.name, static_cast<unsigned char>(names.size()));
  }
  return names;
}

absl::Status NoSuchName(const std::string& hook, std::string_view name,
                        const Names& names) {
  std::vector<std::string> there;
  for (const auto& [known, argument] : names) {
    there.push_back(base::EscapeName(known));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s has no number \"%s\": %s", hook, name,
      there.empty() ? "its arguments have no names without a list behind it: "
                      "--hook 'uprobe:FILE:f(*)'"
                    : "there are " + absl::StrJoin(there, ", ") +
                          ", and by number arg0 to arg5"));
}

}  // namespace

bool DescribeKernelHook(const std::vector<DynamicHook>& dynamic,
                        std::uint32_t family, std::uint32_t number,
                        HookInfo& hook) {
  hook.kind = HookKind::kSegment;
  switch (family) {
    case COUNTRACE_FAMILY_SYSCALL:
    case COUNTRACE_FAMILY_COMPAT_SYSCALL: {
      const bool compat = family == COUNTRACE_FAMILY_COMPAT_SYSCALL;
      hook.origin = HookOrigin::kKernel;
      hook.provider = compat ? "syscall32" : "syscall";
      hook.name = SyscallName(number, compat);
      break;
    }
    case COUNTRACE_FAMILY_IRQ:
      hook.origin = HookOrigin::kInterrupt;
      hook.provider = "irq";
      hook.name = LineName(number);
      break;
    case COUNTRACE_FAMILY_VECTOR:
      hook.origin = HookOrigin::kInterrupt;
      hook.provider = "irq";
      hook.name = NameIn(kVectors, number);
      break;
    case COUNTRACE_FAMILY_SOFTIRQ:
      hook.origin = HookOrigin::kInterrupt;
      hook.provider = "softirq";
      hook.name = NameIn(kSoftirqs, number);
      break;
    case COUNTRACE_FAMILY_FAULT:
      hook.origin = HookOrigin::kKernel;
      hook.provider = "fault";
      hook.name = number == 0 ? "user" : "kernel";
      break;
    case COUNTRACE_FAMILY_LISTED: {
      if (number >= dynamic.size()) return false;
      const DynamicHook& listed = dynamic[number];
      hook.kind = listed.kind;
      hook.origin = listed.origin;
      hook.provider = OneField(listed.provider);
      hook.name = OneField(listed.name);
      hook.location = OneField(listed.location);
      hook.probe_cost = listed.cost;
      hook.payload = listed.values.types;
      hook.payload_names = listed.values.names;
      hook.exit_payload = listed.exit_values.types;
      hook.exit_payload_names = listed.exit_values.names;
      hook.number_names = listed.values.number_names;
      hook.number_names.resize(hook.payload.size());
      hook.number_names.insert(hook.number_names.end(),
                               listed.exit_values.number_names.begin(),
                               listed.exit_values.number_names.end());
      if (listed.block_fields) {
        using logformat::PayloadType;
        hook.payload = {PayloadType::kUnsigned, PayloadType::kUnsigned,
                        PayloadType::kString};
        hook.payload_names = {"sector", "bytes", "device"};
      }
      return true;
    }
    default:
      return false;
  }
  hook.name = OneField(hook.name);
  hook.location = absl::StrFormat("%s:%d", hook.provider, number);
  return true;
}

countrace_argument_sources SourcesOf(const DynamicHook& hook,
                                     const HookAttachment& at) {
  countrace_argument_sources sources = Described(hook, at);
  for (unsigned i = 0; i < at.stored.count; ++i) {
    const unsigned argument = ArgumentOf(sources, at.stored, i);
    if (argument == COUNTRACE_ARGUMENTS) continue;
    sources.arguments[argument] = at.stored.values[i];
  }
  return sources;
}

absl::StatusOr<unsigned char> ArgumentNames::Find(std::string_view glob,
                                                  std::string_view name) {
  std::optional<std::pair<unsigned char, std::string>> found;
  const auto add = [&](const std::string& hook,
                       const Names& names) -> absl::Status {
    const auto at = std::ranges::find(names, name, &Names::value_type::first);
    if (at == names.end()) return NoSuchName(hook, name, names);
    if (!found) found.emplace(at->second, hook);
    if (found->first == at->second) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrFormat(
        "\"%s\" is arg%d of %s, and arg%d of %s: give each a rule", name,
        found->first, found->second, at->second, hook));
  };
  const std::string pattern(glob);
  logformat::HookInfo hook;
  const auto matches = [&](std::uint32_t family, std::uint32_t number) {
    return DescribeKernelHook(request_.dynamic, family, number, hook) &&
           base::GlobMatches(pattern.c_str(), hook.FullName().c_str());
  };
  for (std::uint32_t i = 0; i < request_.dynamic.size(); ++i) {
    if (!matches(COUNTRACE_FAMILY_LISTED, i)) continue;
    const absl::Status status =
        add(hook.FullName(), NamesOf(request_.dynamic[i]));
    if (!status.ok()) return status;
  }
  if (request_.syscalls && calls_.empty()) {
    auto calls = ReadSyscallArguments();
    if (!calls.ok()) return calls.status();
    calls_ = *std::move(calls);
  }
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    if (!matches(COUNTRACE_FAMILY_SYSCALL, i)) continue;
    const absl::Status status = add(hook.FullName(), NamesOf(calls_[i]));
    if (!status.ok()) return status;
  }
  if (found) return found->first;
  return absl::InvalidArgumentError(absl::StrFormat(
      "no hook of the kernel's side that is recorded matches %s, and only "
      "those have arguments with names: there \"%s\" is none; programs' hooks "
      "have arg0 to arg5",
      base::EscapeName(pattern), name));
}

}  // namespace countrace::runtime
