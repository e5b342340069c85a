#include "runtime/recorder/kernel/hooks/kernel_hook_names.h"

#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"
#include "runtime/recorder/kernel/hooks/syscall_names.h"

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

}  // namespace countrace::runtime
