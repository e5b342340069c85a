#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "logformat/description/trace_description.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_names.h"

namespace countrace::runtime {
namespace {

using logformat::HookInfo;
using logformat::HookKind;

constexpr std::uint32_t kMaxNumber = 65535;

}  // namespace

absl::Status KernelHookRegistry::Open(const std::string& directory) {
  const std::string path = directory + "/" + logformat::kKernelHooksFile;
  file_ = base::ScopedFd(open(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file_.is_open())
    return base::ErrnoStatus(errno, "Cannot create " + path);
  return RegisterDynamic(path);
}

absl::Status KernelHookRegistry::OpenUnstored() {
  const std::string path = "/dev/null";
  file_ = base::ScopedFd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_.is_open()) return base::ErrnoStatus(errno, "Cannot open " + path);
  return RegisterDynamic(path);
}

absl::Status KernelHookRegistry::RegisterDynamic(const std::string& path) {
  for (std::uint32_t i = 0; i < dynamic_.size(); ++i) {
    if (Register(COUNTRACE_FAMILY_LISTED, i, false) == 0) {
      return base::ErrnoStatus(errno, "Cannot write " + path);
    }
  }
  return absl::OkStatus();
}

std::uint32_t KernelHookRegistry::Register(std::uint32_t family,
                                           std::uint32_t number, bool point) {
  HookInfo hook;
  if (!DescribeKernelHook(dynamic_, family, number, hook)) return 0;
  if (point && hook.kind != HookKind::kPoint) return 0;
  if (family == COUNTRACE_FAMILY_SYSCALL && number < arguments_.size()) {
    arguments_[number].Describe(hook);
  }
  if (!Store(hook)) return 0;
  std::vector<std::uint16_t>& ids = ids_[family];
  if (number >= ids.size()) ids.resize(number + 1, 0);
  ids[number] = static_cast<std::uint16_t>(hook.id);
  return hook.id;
}

bool KernelHookRegistry::Store(HookInfo& hook) {
  if (!file_.is_open() || next_id_ > logformat::kHookIdMax) return false;
  hook.id = next_id_;
  std::string line =
      absl::StrFormat("%d\t%s\n", hook.id, logformat::HookText(hook));
  for (const std::string& text : logformat::NumberNamesTexts({hook})) {
    line += text + '\n';
  }
  const std::string cost = logformat::CostText(hook);
  if (!cost.empty())
    absl::StrAppendFormat(&line, "%d\tcost\t%s\n", hook.id, cost);
  const ssize_t wrote = write(file_.get(), line.data(), line.size());
  if (wrote != static_cast<ssize_t>(line.size())) {
    // Half a line, and all after it, would be unreadable.
    if (wrote > 0) file_ = base::ScopedFd();
    return false;
  }
  ++next_id_;
  value_types_.push_back({hook.payload, hook.exit_payload});
  return true;
}

const std::vector<logformat::PayloadType>& KernelHookRegistry::ValueTypes(
    std::uint16_t event_id) const {
  return value_types_[logformat::EventHookId(event_id) -
                      logformat::kHookIdKernelMin]
                     [event_id & logformat::kEventExitBit];
}

const countrace_stored_values* KernelHookRegistry::Window(std::uint32_t number,
                                                          bool exit) const {
  if (number >= dynamic_.size()) return nullptr;
  for (const HookAttachment& at : dynamic_[number].attachments) {
    if ((at.place == HookAttachment::Place::kExit) == exit &&
        at.stored.window_bytes != 0) {
      return &at.stored;
    }
  }
  return nullptr;
}

std::uint16_t KernelHookRegistry::AddPoint(HookInfo hook) {
  return Store(hook) ? static_cast<std::uint16_t>(hook.id * 2) : 0;
}

std::uint16_t KernelHookRegistry::EventId(std::uint16_t raw,
                                          std::uint32_t number) {
  const std::uint16_t dump = raw & COUNTRACE_EVENT_DUMP;
  const unsigned flags = COUNTRACE_EVENT_DUMP | COUNTRACE_EVENT_VALUES |
                         COUNTRACE_EVENT_CALL_VALUES;
  const unsigned code = (raw & ~flags) - COUNTRACE_EVENT_HOOK;
  const unsigned family = code / 4;
  const unsigned place = code % 4;
  if (family >= COUNTRACE_HOOK_FAMILIES) {
    return 0;
  }
  if (number > kMaxNumber) return 0;
  const std::vector<std::uint16_t>& ids = ids_[family];
  std::uint32_t id = number < ids.size() ? ids[number] : 0;
  if (id == 0) id = Register(family, number, place >= COUNTRACE_PLACE_POINT);
  if (id == 0) return 0;
  const unsigned exit = place == COUNTRACE_PLACE_EXIT ? 1 : 0;
  return static_cast<std::uint16_t>(id * 2 + exit) | dump;
}

}  // namespace countrace::runtime
