// HOT. Counters of one thread, read at its hooks. The thread opens perf_event
// groups for itself: one for the events that always count and one for each
// event set. They are read from user space where the kernel allows it (rdpmc
// under the page's seqlock), else by one read(2) for each group.
//
// A counter that could not be opened or read is absent, never 0.
#ifndef COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_COUNTERS_H_
#define COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_COUNTERS_H_

#include <linux/perf_event.h>

#include <atomic>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "runtime/inprocess/counters/thread_rotation.h"

namespace countrace::runtime {

struct CounterValues {
  std::uint32_t mmcr;     // the event set, as logformat::ThreadDump::mmcr
  std::uint32_t present;  // as logformat::ThreadDump::present
  std::uint64_t value[logformat::kMaxCounters];
};

// Events that count at the same time: one perf_event group.
struct CounterGroup {
  std::int32_t leader_fd;  // -1: nothing is open
  std::uint32_t opened;
  // Position in a group read -> session index.
  std::uint8_t order[logformat::kMaxCounters];
  // Value of a dump = session index - first_event + first_value.
  std::uint8_t first_event, first_value;
  bool user_readable;  // every page allows rdpmc
};

// Owner thread only.
struct ThreadCounters {
  std::uint32_t count;  // events of the session; index = session index
  std::int32_t fds[logformat::kSessionEvents];
  // The kernel's numbers of the events: a program may close descriptors, and
  // use theirs again (own_descriptors.h).
  std::uint64_t ids[logformat::kSessionEvents];
  perf_event_mmap_page* pages[logformat::kSessionEvents];
  CounterGroup always;
  // Only the group of rotation.set counts.
  CounterGroup sets[logformat::kSessionEventSets];
  ThreadRotation rotation;
  bool waits;                   // the set of `rotation` does not count yet
  std::uint32_t ranges_closed;  // when the descriptors were the events' last
};

// Result of reading one counter from its page.
enum class PageRead { kOk, kNotScheduled, kMultiplexed };

// One read under the page's seqlock (perf_event_open(2), "rdpmc"). `rdpmc(i)`
// reads hardware counter i. kNotScheduled: the event has no hardware counter
// now; `value` is not changed.
template <typename Rdpmc>
PageRead ReadPage(const volatile perf_event_mmap_page* page, Rdpmc rdpmc,
                  std::uint64_t* value) noexcept {
  std::uint32_t sequence;
  std::uint32_t index;
  std::int64_t count;
  bool multiplexed;
  do {
    sequence = page->lock;
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // the kernel writes on this CPU
    index = page->index;
    count = page->offset;
    multiplexed = page->time_enabled != page->time_running;
    if (index != 0) {
      // Sign-extend from the counter's width: offset + pmc is modular in it.
      const unsigned shift = 64u - page->pmc_width;
      const std::uint64_t raw = rdpmc(index - 1);
      count += static_cast<std::int64_t>(raw << shift) >> shift;
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (page->lock != sequence);
  if (index == 0) return PageRead::kNotScheduled;
  *value = static_cast<std::uint64_t>(count);
  return multiplexed ? PageRead::kMultiplexed : PageRead::kOk;
}

// Opens the session's thread events for the calling thread. Events that fail
// are absent.
void OpenThreadCounters(ThreadCounters& counters) noexcept;
void CloseThreadCounters(ThreadCounters& counters) noexcept;

// Starts the set of counters.rotation and stops set `from`. Async-signal-safe,
// preserves errno.
void CountSet(ThreadCounters& counters, std::uint32_t from) noexcept;

// Reads all counters of the calling thread. Those whose descriptors the program
// has closed are absent from then on. Async-signal-safe, preserves errno.
void ReadThreadCounters(ThreadCounters& counters,
                        CounterValues& values) noexcept;

// Closes the descriptors that a forked child inherits from its parent, unless
// they are the program's own by now.
void CloseInheritedCounters() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_COUNTERS_THREAD_COUNTERS_H_
