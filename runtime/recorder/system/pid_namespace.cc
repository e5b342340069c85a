#include "runtime/recorder/system/pid_namespace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/system/process_scan.h"

namespace countrace::runtime {

namespace {
// PROC_PID_INIT_INO of include/linux/proc_ns.h.
constexpr std::uint32_t kHostInode = 0xEFFFFFFC;
}  // namespace

std::uint32_t PidNamespaceOf(std::int32_t pid) {
  struct stat info {};
  return stat(absl::StrFormat("/proc/%d/ns/pid", pid).c_str(), &info) == 0
             ? static_cast<std::uint32_t>(info.st_ino)
             : 0;
}

std::int32_t OwnNumber(std::int32_t pid, std::int32_t tid) {
  const auto status =
      base::ReadSmallFile(absl::StrFormat("/proc/%d/task/%d/status", pid, tid));
  return status.ok() ? OwnNumberIn(*status) : 0;
}

std::int32_t OwnNumberIn(const std::string& status) {
  // "NSpid:", then the numbers from this namespace to the innermost one.
  const std::size_t at = status.find("\nNSpid:");
  if (at == std::string::npos) return 0;
  const std::size_t end = status.find('\n', at + 1);
  const std::size_t last = status.find_last_of(" \t:", end);
  return static_cast<std::int32_t>(
      std::strtol(status.c_str() + last + 1, nullptr, 10));
}

std::int32_t FindProcess(std::uint32_t pid_namespace, std::int32_t number) {
  for (const ProcessThread& thread : ScanThreads()) {
    if (thread.tid == thread.pid &&
        PidNamespaceOf(thread.pid) == pid_namespace &&
        OwnNumber(thread.pid, thread.tid) == number) {
      return thread.pid;
    }
  }
  return 0;
}

absl::Status PidNamespaceError(const std::string& message) {
  absl::Status status = absl::PermissionDeniedError(message);
  status.SetPayload(kPidNamespacePayload, absl::Cord());
  return status;
}

bool IsHostPidNamespace() { return OwnPidNamespace() == kHostInode; }

absl::Status CheckProcOfOwnNamespace() {
  char text[32] = {};
  if (readlink("/proc/self", text, sizeof(text) - 1) <= 0) {
    return PidNamespaceError(
        "/proc is not mounted, or shows another pid namespace than this "
        "program's: mount it (mount -t proc proc /proc)");
  }
  const long shown = std::strtol(text, nullptr, 10);
  if (shown == getpid()) return absl::OkStatus();
  return PidNamespaceError(absl::StrFormat(
      "/proc shows another pid namespace: this process is %d there and %d in "
      "its own; mount /proc again (unshare --mount-proc, or mount -t proc proc "
      "/proc)",
      shown, getpid()));
}

}  // namespace countrace::runtime
