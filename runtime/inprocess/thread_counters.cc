#include "runtime/inprocess/thread_counters.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/inprocess/hardware_counter.h"
#include "runtime/inprocess/process_state.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

constexpr std::size_t kPageBytes = 4096;  // only the first page is mapped

// Descriptors open in this process, for the fork child to close: ordinary
// memory, because the rings that hold them are wiped there.
constexpr std::size_t kTrackedFds = 4096;
std::atomic<std::int32_t> g_open_fds[kTrackedFds];  // fd + 1, 0 = free

void Track(std::int32_t fd) noexcept {
  for (std::atomic<std::int32_t>& entry : g_open_fds) {
    std::int32_t free = 0;
    if (entry.load(std::memory_order_relaxed) == 0 &&
        entry.compare_exchange_strong(free, fd + 1)) {
      return;
    }
  }
}

void Untrack(std::int32_t fd) noexcept {
  for (std::atomic<std::int32_t>& entry : g_open_fds) {
    std::int32_t mine = fd + 1;
    if (entry.load(std::memory_order_relaxed) == fd + 1 &&
        entry.compare_exchange_strong(mine, 0)) {
      return;
    }
  }
}

long OpenForThisThread(perf_event_attr& attr, std::int32_t leader) noexcept {
  return syscall(SYS_perf_event_open, &attr, 0, -1, leader,
                 PERF_FLAG_FD_CLOEXEC);
}

// As `attr` says, if possible with a counter that user space can read.
long OpenReadable(perf_event_attr& attr, std::int32_t leader) noexcept {
#if defined(__aarch64__)
  // There user space must ask for it (config1 bit 1), and takes part in the
  // choice between counters of 64 bits (bit 0), which not every PMU has,
  // and 32.
  const bool counted_by_pmu = attr.type != PERF_TYPE_SOFTWARE &&
                              attr.type != PERF_TYPE_TRACEPOINT &&
                              attr.type != PERF_TYPE_BREAKPOINT;
  const auto config1 = attr.config1;
  for (const unsigned wanted : {3u, 2u}) {
    if (!counted_by_pmu) break;
    attr.config1 = config1 | wanted;
    const long fd = OpenForThisThread(attr, leader);
    if (fd >= 0) return fd;
    if (errno == EACCES || errno == EPERM) break;
  }
  attr.config1 = config1;
#endif
  return OpenForThisThread(attr, leader);
}

std::int32_t OpenEvent(const lf::SessionEvent& event,
                       std::int32_t leader) noexcept {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.exclude_hv = 1;
  attr.exclude_user = (event.flags & lf::kEventExcludeUser) != 0 ? 1 : 0;
  attr.exclude_kernel = (event.flags & lf::kEventExcludeKernel) != 0 ? 1 : 0;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING;
  long fd = OpenReadable(attr, leader);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) {
    // perf_event_paranoid >= 2: user-space counts only, by intent of the admin.
    attr.exclude_kernel = 1;
    fd = OpenReadable(attr, leader);
  }
  return static_cast<std::int32_t>(fd);
}

void ReadGroup(const ThreadCounters& counters, CounterValues& values) noexcept {
  struct {
    std::uint64_t count, enabled, running;
    std::uint64_t value[lf::kMaxCounters];
  } group;
  const int saved_errno = errno;
  const long got = syscall(SYS_read, counters.leader_fd, &group, sizeof(group));
  errno = saved_errno;
  const long wanted = static_cast<long>((3 + counters.opened) * 8);
  if (got != wanted || group.count != counters.opened || group.running == 0) {
    return;  // all absent
  }
  const std::uint32_t multiplexed = group.running < group.enabled ? 1u : 0u;
  for (std::uint32_t i = 0; i < counters.opened; ++i) {
    const std::uint32_t event = counters.order[i];
    values.value[event] = group.value[i];
    values.present |= (1u << event) | (multiplexed << (16 + event));
  }
}

}  // namespace

void OpenThreadCounters(ThreadCounters& counters) noexcept {
  memset(&counters, 0, sizeof(counters));
  counters.leader_fd = -1;
  counters.count = g_session->thread_event_count;
  counters.user_readable = true;
  for (std::uint32_t i = 0; i < counters.count; ++i) {
    counters.fds[i] =
        OpenEvent(g_session->thread_events[i], counters.leader_fd);
    if (counters.fds[i] < 0) continue;
    Track(counters.fds[i]);
    if (counters.leader_fd < 0) counters.leader_fd = counters.fds[i];
    counters.order[counters.opened++] = static_cast<std::uint8_t>(i);
    void* page =
        mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, counters.fds[i], 0);
    if (page == MAP_FAILED) {
      counters.user_readable = false;
      continue;
    }
    madvise(page, kPageBytes, MADV_DONTFORK);
    counters.pages[i] = static_cast<perf_event_mmap_page*>(page);
    if (!PageAllowsUserRead(counters.pages[i])) counters.user_readable = false;
  }
  if (counters.opened == 0) counters.user_readable = false;
}

void CloseThreadCounters(ThreadCounters& counters) noexcept {
  for (std::uint32_t i = 0; i < counters.count; ++i) {
    if (counters.pages[i] != nullptr) munmap(counters.pages[i], kPageBytes);
    if (counters.fds[i] >= 0) {
      Untrack(counters.fds[i]);
      syscall(SYS_close, counters.fds[i]);
    }
  }
  memset(&counters, 0, sizeof(counters));
  counters.leader_fd = -1;
}

void ReadThreadCounters(const ThreadCounters& counters,
                        CounterValues& values) noexcept {
  values.present = 0;
  for (std::uint32_t i = 0; i < counters.count; ++i) values.value[i] = 0;
  if (counters.opened == 0) return;
  if (counters.user_readable) {
    bool all = true;
    for (std::uint32_t i = 0; i < counters.opened && all; ++i) {
      const std::uint32_t event = counters.order[i];
      const PageRead read = ReadPage(counters.pages[event], ReadHardwareCounter,
                                     &values.value[event]);
      all = read != PageRead::kNotScheduled;
      values.present |=
          (1u << event) |
          (read == PageRead::kMultiplexed ? 1u << (16 + event) : 0u);
    }
    if (all) return;
    values.present = 0;  // one has no hardware counter now: ask the kernel
  }
  ReadGroup(counters, values);
}

void CloseInheritedCounters() noexcept {
  const int saved_errno = errno;
  for (std::atomic<std::int32_t>& entry : g_open_fds) {
    const std::int32_t fd = entry.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) syscall(SYS_close, fd);
  }
  errno = saved_errno;
}

}  // namespace countrace::runtime
