#include "runtime/recorder/system/pid_namespace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_format.h"

namespace countrace::runtime {

namespace {
// PROC_PID_INIT_INO of include/linux/proc_ns.h.
constexpr std::uint64_t kHostInode = 0xEFFFFFFC;
}  // namespace

std::uint64_t OwnPidNamespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

bool IsHostPidNamespace() { return OwnPidNamespace() == kHostInode; }

absl::Status CheckProcOfOwnNamespace() {
  char text[32] = {};
  if (readlink("/proc/self", text, sizeof(text) - 1) <= 0) {
    return absl::PermissionDeniedError(
        "/proc is not mounted, or shows another pid namespace than this "
        "program's: mount it (mount -t proc proc /proc)");
  }
  const long shown = std::strtol(text, nullptr, 10);
  if (shown == getpid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrFormat(
      "/proc shows another pid namespace: this process is %d there and %d in "
      "its own; mount /proc again (unshare --mount-proc, or mount -t proc proc "
      "/proc)",
      shown, getpid()));
}

}  // namespace countrace::runtime
