#include "runtime/inprocess/process/own_namespaces.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/posix/own_call.h"
#include "runtime/pid_namespace.h"
#include "runtime/time_namespace.h"

namespace countrace::runtime {

namespace {

// In ordinary memory: a forked child keeps them.
std::atomic<std::uint32_t> g_pid_namespace{0};
std::atomic<std::int64_t> g_time_offset_ns{0};

constexpr unsigned long kGetPidNamespace = _IO(0xff, 5);  // linux/pidfd.h

std::uint32_t PidNamespaceOfPidfd() noexcept {
  std::uint32_t inode = 0;
  const long self = base::OwnCall(
      SYS_pidfd_open, static_cast<int>(base::OwnCall(SYS_getpid)), 0);
  if (self < 0) return 0;
  const long fd = base::OwnCall(SYS_ioctl, self, kGetPidNamespace, 0);
  struct stat status;
  if (fd >= 0 && base::OwnCall(SYS_fstat, static_cast<int>(fd), &status) == 0) {
    inode = static_cast<std::uint32_t>(status.st_ino);
  }
  if (fd >= 0) base::OwnCall(SYS_close, fd);
  base::OwnCall(SYS_close, self);
  return inode;
}

}  // namespace

std::uint32_t KnownPidNamespace() noexcept {
  std::uint32_t inode = OwnPidNamespace();
  if (inode == 0) inode = PidNamespaceOfPidfd();
  if (inode == 0) {
    // The first process of a namespace is in another one than its parent.
    const bool is_first = base::OwnCall(SYS_getpid) == 1;
    return is_first ? 0 : g_pid_namespace.load(std::memory_order_relaxed);
  }
  g_pid_namespace.store(inode, std::memory_order_relaxed);
  return inode;
}

std::int64_t KnownTimeOffsetNs() noexcept {
  std::int64_t offset_ns = 0;
  if (!ReadTimeNamespaceOffset(&offset_ns)) {
    return g_time_offset_ns.load(std::memory_order_relaxed);
  }
  g_time_offset_ns.store(offset_ns, std::memory_order_relaxed);
  return offset_ns;
}

}  // namespace countrace::runtime
