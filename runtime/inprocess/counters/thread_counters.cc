#include "runtime/inprocess/counters/thread_counters.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "countrace/counts_page.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

constexpr std::size_t kPageBytes = 4096;  // only the first page is mapped

// Events open in this process, for a forked child to close. They are in
// ordinary memory, because the rings that hold them are wiped in the child.
constexpr std::size_t kTrackedEvents = 4096;
constexpr std::int32_t kBeingStored = -1;
struct TrackedEvent {
  std::atomic<std::int32_t> fd;  // + 1; 0 = free
  std::atomic<std::uint64_t> id;
};
TrackedEvent g_open_events[kTrackedEvents];

void Track(std::int32_t fd, std::uint64_t id) noexcept {
  for (TrackedEvent& entry : g_open_events) {
    std::int32_t free = 0;
    if (entry.fd.load(std::memory_order_relaxed) == 0 &&
        entry.fd.compare_exchange_strong(free, kBeingStored)) {
      entry.id.store(id, std::memory_order_relaxed);
      entry.fd.store(fd + 1, std::memory_order_release);
      return;
    }
  }
}

// By its id: the program may have closed the descriptor, and another event
// may have its number.
void Untrack(std::int32_t fd, std::uint64_t id) noexcept {
  for (TrackedEvent& entry : g_open_events) {
    std::int32_t mine = fd + 1;
    if (entry.fd.load(std::memory_order_relaxed) == fd + 1 &&
        entry.id.load(std::memory_order_relaxed) == id &&
        entry.fd.compare_exchange_strong(mine, 0)) {
      return;
    }
  }
}

// Closes a descriptor if it is still the event's.
void CloseEvent(std::int32_t fd, std::uint64_t id) noexcept {
  if (PerfEventId(fd) == id) base::OwnCall(SYS_close, fd);
}

long OpenForThisThread(perf_event_attr& attr, std::int32_t leader) noexcept {
  return base::OwnCall(SYS_perf_event_open, &attr, 0, -1, leader,
                       PERF_FLAG_FD_CLOEXEC);
}

// Opens the event of `attr`, if possible on a counter that user space can read.
long OpenReadable(perf_event_attr& attr, std::int32_t leader) noexcept {
#if defined(__aarch64__)
  // On arm64 user space must request it (config1 bit 1), and may request a
  // 64-bit counter (bit 0), which not every PMU has.
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

// `waits`: the group counts nothing until its leader is enabled.
std::int32_t OpenEvent(const lf::SessionEvent& event, std::int32_t leader,
                       bool waits) noexcept {
  perf_event_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  if (event.type == PERF_TYPE_BREAKPOINT) {  // event_name.cc
    attr.config = 0;
    attr.bp_type = static_cast<std::uint32_t>(event.config);
  }
  attr.disabled = waits && leader < 0 ? 1 : 0;
  attr.exclude_hv = 1;
  attr.exclude_user = (event.flags & lf::kEventExcludeUser) != 0 ? 1 : 0;
  attr.exclude_kernel = (event.flags & lf::kEventExcludeKernel) != 0 ? 1 : 0;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING;
  long fd = OpenReadable(attr, leader);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) {
    // perf_event_paranoid >= 2: the administrator allows user-space counts
    // only.
    attr.exclude_kernel = 1;
    fd = OpenReadable(attr, leader);
  }
  return static_cast<std::int32_t>(fd);
}

// Opens events [first, first + count) of the session.
void OpenGroup(ThreadCounters& counters, CounterGroup& group,
               std::uint32_t first, std::uint32_t count, bool waits) noexcept {
  group.leader_fd = -1;
  group.first_event = static_cast<std::uint8_t>(first);
  for (std::uint32_t i = first; i < first + count; ++i) {
    counters.fds[i] =
        OpenEvent(g_settings->thread_events[i], group.leader_fd, waits);
    if (counters.fds[i] < 0) continue;
    counters.fds[i] = static_cast<std::int32_t>(MoveUp(counters.fds[i]));
    counters.ids[i] = PerfEventId(counters.fds[i]);
    Track(counters.fds[i], counters.ids[i]);
    if (group.leader_fd < 0) {
      group.leader_fd = counters.fds[i];
      group.user_readable = true;
    }
    group.order[group.opened++] = static_cast<std::uint8_t>(i);
    void* page = base::OwnMap(nullptr, kPageBytes, PROT_READ, MAP_SHARED,
                              counters.fds[i], 0);
    if (page == MAP_FAILED) {
      group.user_readable = false;
      continue;
    }
    base::OwnCall(SYS_madvise, page, kPageBytes, MADV_DONTFORK);
    counters.pages[i] = static_cast<perf_event_mmap_page*>(page);
    if (!countrace_detail_page_readable(counters.pages[i])) {
      group.user_readable = false;
    }
  }
}

void Store(const CounterGroup& group, std::uint32_t event, std::uint64_t value,
           bool multiplexed, CounterValues& values) noexcept {
  const std::uint32_t at = event - group.first_event + group.first_value;
  values.value[at] = value;
  values.present |= (1u << at) | (multiplexed ? 1u << (16 + at) : 0u);
}

// The program has closed its leader: absent from now on.
void ForgetGroup(CounterGroup& group) noexcept {
  group.opened = 0;
  group.leader_fd = -1;
}

void ReadFromKernel(CounterGroup& group, CounterValues& values) noexcept {
  if (!MayCall()) return;  // all absent
  struct {
    std::uint64_t count, enabled, running;
    std::uint64_t value[lf::kMaxCounters];
  } read;
  const int saved_errno = errno;
  const long got =
      base::OwnCall(SYS_read, group.leader_fd, &read, sizeof(read));
  if (got < 0 && errno == EBADF) ForgetGroup(group);
  errno = saved_errno;
  const long wanted = static_cast<long>((3 + group.opened) * 8);
  if (got != wanted || read.count != group.opened || read.running == 0) {
    return;  // all absent
  }
  for (std::uint32_t i = 0; i < group.opened; ++i) {
    Store(group, group.order[i], read.value[i], read.running < read.enabled,
          values);
  }
}

void ReadCounters(const ThreadCounters& counters, CounterGroup& group,
                  CounterValues& values) noexcept {
  if (group.opened == 0) return;
  if (group.user_readable) {
    const std::uint32_t before = values.present;
    bool all = true;
    for (std::uint32_t i = 0; i < group.opened && all; ++i) {
      const std::uint32_t event = group.order[i];
      std::uint64_t value = 0;
      const PageRead read = ReadPage(counters.pages[event],
                                     countrace_detail_hardware_counter, &value);
      all = read != PageRead::kNotScheduled;
      Store(group, event, value, read == PageRead::kMultiplexed, values);
    }
    if (all) return;
    values.present = before;  // one has no hardware counter: read by the kernel
  }
  ReadFromKernel(group, values);
}

// After the program has closed descriptors: the numbers may be its own now.
__attribute__((noinline)) void CheckDescriptors(
    ThreadCounters& counters) noexcept {
  if (!MayCall()) return;
  const int saved_errno = errno;
  counters.ranges_closed = g_ranges_closed.load(std::memory_order_acquire);
  const auto check = [&](CounterGroup& group) {
    if (group.opened != 0 &&
        PerfEventId(group.leader_fd) != counters.ids[group.order[0]]) {
      ForgetGroup(group);
    }
  };
  check(counters.always);
  for (std::uint32_t i = 0; i < counters.rotation.sets; ++i) {
    check(counters.sets[i]);
  }
  errno = saved_errno;
}

bool MayBeClosed(const ThreadCounters& counters) noexcept {
  return __builtin_expect(
      g_ranges_closed.load(std::memory_order_relaxed) != counters.ranges_closed,
      0);
}

}  // namespace

void OpenThreadCounters(ThreadCounters& counters) noexcept {
  memset(&counters, 0, sizeof(counters));
  counters.count = g_settings->thread_event_count;
  counters.ranges_closed = g_ranges_closed.load(std::memory_order_relaxed);
  for (std::int32_t& fd : counters.fds) fd = -1;
  BeginRotation(counters.rotation, g_settings->thread_set_count,
                g_settings->thread_rotate_ns,
                static_cast<std::uint32_t>(base::OwnCall(SYS_gettid)));
  const std::uint32_t always = lf::AlwaysOnThreadEvents(*g_settings);
  OpenGroup(counters, counters.always, 0, always, /*waits=*/false);
  std::uint32_t first = always;
  for (std::uint32_t i = 0; i < counters.rotation.sets; ++i) {
    CounterGroup& group = counters.sets[i];
    group.first_value = static_cast<std::uint8_t>(always);
    OpenGroup(counters, group, first, g_settings->thread_set_sizes[i],
              /*waits=*/i != counters.rotation.set);
    first += g_settings->thread_set_sizes[i];
  }
}

void CloseThreadCounters(ThreadCounters& counters) noexcept {
  for (std::uint32_t i = 0; i < counters.count; ++i) {
    if (counters.pages[i] != nullptr)
      base::OwnCall(SYS_munmap, counters.pages[i], kPageBytes);
    if (counters.fds[i] >= 0) {
      Untrack(counters.fds[i], counters.ids[i]);
      CloseEvent(counters.fds[i], counters.ids[i]);
    }
  }
  memset(&counters, 0, sizeof(counters));
}

void CountSet(ThreadCounters& counters, std::uint32_t from) noexcept {
  if (!MayCall()) {
    counters.waits = true;  // the set's values are absent
    return;
  }
  if (MayBeClosed(counters)) CheckDescriptors(counters);
  const int saved_errno = errno;
  // A handler's dump in between contains only the events that always count.
  counters.waits = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const CounterGroup& old = counters.sets[from];
  const CounterGroup& group = counters.sets[counters.rotation.set];
  if (old.opened != 0) {
    base::OwnCall(SYS_ioctl, old.leader_fd, PERF_EVENT_IOC_DISABLE, 0);
  }
  if (group.opened != 0) {
    base::OwnCall(SYS_ioctl, group.leader_fd, PERF_EVENT_IOC_ENABLE, 0);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  counters.waits = false;
  errno = saved_errno;
}

void ReadThreadCounters(ThreadCounters& counters,
                        CounterValues& values) noexcept {
  if (MayBeClosed(counters)) CheckDescriptors(counters);
  values.mmcr = counters.rotation.set;
  values.present = counters.rotation.odd ? lf::kOddRotationBit : 0;
  for (std::uint64_t& value : values.value) value = 0;
  ReadCounters(counters, counters.always, values);
  if (counters.rotation.sets != 0 && !counters.waits) {
    ReadCounters(counters, counters.sets[values.mmcr], values);
  }
}

void CloseInheritedCounters() noexcept {
  const int saved_errno = errno;
  for (TrackedEvent& entry : g_open_events) {
    const std::int32_t fd = entry.fd.exchange(0, std::memory_order_relaxed);
    if (fd > 0) CloseEvent(fd - 1, entry.id.load(std::memory_order_relaxed));
  }
  errno = saved_errno;
}

}  // namespace countrace::runtime
