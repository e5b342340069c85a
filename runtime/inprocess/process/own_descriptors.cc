#include "runtime/inprocess/process/own_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/start_values.h"
#include "runtime/inprocess/process/system_calls.h"

#ifndef SYS_close_range
#define SYS_close_range 436  // the same on every architecture
#endif

namespace countrace::runtime {

std::atomic<std::uint32_t> g_ranges_closed{0};

namespace {

// The kernel's table grows to the highest number: 8 bytes each.
constexpr rlim_t kHighestTable = 1024;
constexpr unsigned kCloseRangeUnshare = 1u << 1;  // linux/close_range.h

constexpr long kPauseNs = 50'000;
constexpr int kUseTries = 200;  // a closing that was killed does not end
constexpr int kClosingTries = 2000;

// The caller may run in a thread under a seccomp filter: no system call there.
void Pause() noexcept {
  if (!MayCall()) return;
  const timespec pause = {0, kPauseNs};
  base::OwnCall(SYS_nanosleep, &pause, nullptr);
}

}  // namespace

// seq_cst in both: the use sees the closing, or the closing sees the use.
DescriptorUse::DescriptorUse() noexcept {
  for (int i = 0; i < kUseTries; ++i) {
    g_process->descriptor_uses.fetch_add(1, std::memory_order_seq_cst);
    if (g_process->range_closings.load(std::memory_order_seq_cst) == 0) return;
    g_process->descriptor_uses.fetch_sub(1, std::memory_order_seq_cst);
    Pause();
  }
  g_process->descriptor_uses.fetch_add(1, std::memory_order_seq_cst);
}

DescriptorUse::~DescriptorUse() {
  g_process->descriptor_uses.fetch_sub(1, std::memory_order_release);
}

RangeClosing::RangeClosing() noexcept {
  if (g_process == nullptr) return;
  const int saved_errno = errno;
  g_process->range_closings.fetch_add(1, std::memory_order_seq_cst);
  for (int i = 0; i < kClosingTries && g_process->descriptor_uses.load(
                                           std::memory_order_seq_cst) != 0;
       ++i) {
    Pause();
  }
  errno = saved_errno;
}

RangeClosing::~RangeClosing() {
  g_ranges_closed.fetch_add(1, std::memory_order_release);
  if (g_process == nullptr) return;
  g_process->range_closings.fetch_sub(1, std::memory_order_release);
}

long MoveUp(long fd) noexcept {
  if (fd < 0) return fd;
  const int saved_errno = errno;
  rlimit limit{};
  long high = -1;
  if (base::OwnCall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) == 0) {
    const rlim_t most =
        limit.rlim_cur < kHighestTable ? limit.rlim_cur : kHighestTable;
    high = base::OwnCall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, most - most / 4);
  }
  if (high >= 0) base::OwnCall(SYS_close, fd);
  errno = saved_errno;
  return high >= 0 ? high : fd;
}

void GrowTable() noexcept {
  const int saved_errno = errno;
  const DescriptorUse use;
  const long fd =
      MoveUp(base::OwnCall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0));
  if (fd >= 0) base::OwnCall(SYS_close, fd);
  errno = saved_errno;
}

std::uint64_t PerfEventId(int fd) noexcept {
  std::uint64_t id = 0;
  return base::OwnCall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

bool MayUseOwnTable() noexcept {
  const char* const preloaded = EnvironmentValue("LD_PRELOAD");
  return preloaded == nullptr || strstr(preloaded, "vgpreload_") == nullptr;
}

void UseOwnTable() noexcept {
  base::OwnCall(SYS_close_range, 0u, ~0u, kCloseRangeUnshare);
}

}  // namespace countrace::runtime
