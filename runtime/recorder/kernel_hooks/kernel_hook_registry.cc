#include "runtime/recorder/kernel_hooks/kernel_hook_registry.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "logformat/trace_description.h"
#include "runtime/recorder/kernel_hooks/syscall_names.h"
#include "runtime/recorder/small_file.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::HookKind;
using logformat::HookOrigin;

constexpr std::uint32_t kMaxNumber = 65535;

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

// "24:virtio0-requests": the line, and whose handlers it has.
std::string LineName(std::uint32_t line) {
  const auto actions =
      ReadSmallFile(absl::StrFormat("/sys/kernel/irq/%d/actions", line));
  const std::string_view names =
      actions.ok() ? Trim(*actions) : std::string_view();
  if (names.empty()) return absl::StrFormat("%d", line);
  return absl::StrFormat("%d:%s", line, names);
}

// A name is a field of a line.
std::string OneField(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\t", "?"}, {"\n", "?"}});
}

}  // namespace

absl::Status KernelHookRegistry::Open(const std::string& directory) {
  const std::string path = directory + "/" + logformat::kKernelHooksFile;
  file_ = ScopedFd(open(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file_.is_open()) return ErrnoStatus(errno, "Cannot create " + path);
  for (std::uint32_t i = 0; i < dynamic_.size(); ++i) {
    if (Register(COUNTRACE_FAMILY_LISTED, i, false) == 0) {
      return ErrnoStatus(errno, "Cannot write " + path);
    }
  }
  return absl::OkStatus();
}

bool KernelHookRegistry::Describe(std::uint32_t family, std::uint32_t number,
                                  HookInfo& hook) const {
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
      if (number >= dynamic_.size()) return false;
      const DynamicHook& dynamic = dynamic_[number];
      hook.kind = dynamic.kind;
      hook.origin = dynamic.origin;
      hook.provider = OneField(dynamic.provider);
      hook.name = OneField(dynamic.name);
      hook.location = OneField(dynamic.location);
      return true;
    }
    default:
      return false;
  }
  hook.name = OneField(hook.name);
  hook.location = absl::StrFormat("%s:%d", hook.provider, number);
  return true;
}

std::uint32_t KernelHookRegistry::Register(std::uint32_t family,
                                           std::uint32_t number, bool point) {
  HookInfo hook;
  if (!file_.is_open() || next_id_ > logformat::kHookIdMax ||
      !Describe(family, number, hook)) {
    return 0;
  }
  if (point && hook.kind != HookKind::kPoint) return 0;
  hook.id = next_id_;
  const std::string line =
      absl::StrFormat("%d\t%s\n", hook.id, logformat::HookText(hook));
  const ssize_t wrote = write(file_.get(), line.data(), line.size());
  if (wrote != static_cast<ssize_t>(line.size())) {
    // Half a line and what follows it could not be read.
    if (wrote > 0) file_ = ScopedFd();
    return 0;
  }
  std::vector<std::uint16_t>& ids = ids_[family];
  if (number >= ids.size()) ids.resize(number + 1, 0);
  ids[number] = static_cast<std::uint16_t>(next_id_);
  return next_id_++;
}

std::uint16_t KernelHookRegistry::EventId(std::uint16_t raw,
                                          std::uint32_t number) {
  const std::uint16_t dump = raw & COUNTRACE_EVENT_DUMP;
  const unsigned code = (raw & ~COUNTRACE_EVENT_DUMP) - COUNTRACE_EVENT_HOOK;
  const unsigned family = code / 4;
  const unsigned place = code % 4;
  if (family >= COUNTRACE_HOOK_FAMILIES || place > COUNTRACE_PLACE_POINT) {
    return 0;
  }
  if (number > kMaxNumber) return 0;
  const std::vector<std::uint16_t>& ids = ids_[family];
  std::uint32_t id = number < ids.size() ? ids[number] : 0;
  if (id == 0) id = Register(family, number, place == COUNTRACE_PLACE_POINT);
  if (id == 0) return 0;
  const unsigned exit = place == COUNTRACE_PLACE_EXIT ? 1 : 0;
  return static_cast<std::uint16_t>(id * 2 + exit) | dump;
}

}  // namespace countrace::runtime
