/* One counter of this thread, read from user space through the page that the
 * kernel maps for its event (perf_event_open(2), "rdpmc"). C99 and C++17.
 *
 * Used by counts.h, and by the runtime library. Thread: the event's own.
 */
#ifndef COUNTRACE_COUNTS_PAGE_H_
#define COUNTRACE_COUNTS_PAGE_H_

#include <linux/perf_event.h>
#include <stdint.h>

/* 0: not on this architecture, or the kernel does not allow it. */
static inline int countrace_detail_page_readable(
    const volatile struct perf_event_mmap_page* page) {
#if defined(__x86_64__) || defined(__aarch64__)
  return page->cap_user_rdpmc != 0;
#else
  (void)page;
  return 0;
#endif
}

#if defined(__aarch64__)
/* One register for each counter. Selecting a counter (PMSELR, then PMXEVCNTR)
 * would be shorter, but the selection belongs to the CPU: a signal handler with
 * hooks, or another process, may change it between the two instructions. */
#define COUNTRACE_DETAIL_COUNTER(n)                           \
  case n:                                                     \
    __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(v)); \
    break
#define COUNTRACE_DETAIL_TEN_COUNTERS(tens) \
  COUNTRACE_DETAIL_COUNTER(tens##0);        \
  COUNTRACE_DETAIL_COUNTER(tens##1);        \
  COUNTRACE_DETAIL_COUNTER(tens##2);        \
  COUNTRACE_DETAIL_COUNTER(tens##3);        \
  COUNTRACE_DETAIL_COUNTER(tens##4);        \
  COUNTRACE_DETAIL_COUNTER(tens##5);        \
  COUNTRACE_DETAIL_COUNTER(tens##6);        \
  COUNTRACE_DETAIL_COUNTER(tens##7);        \
  COUNTRACE_DETAIL_COUNTER(tens##8);        \
  COUNTRACE_DETAIL_COUNTER(tens##9)
#define COUNTRACE_DETAIL_FIRST_COUNTERS() \
  COUNTRACE_DETAIL_COUNTER(0);            \
  COUNTRACE_DETAIL_COUNTER(1);            \
  COUNTRACE_DETAIL_COUNTER(2);            \
  COUNTRACE_DETAIL_COUNTER(3);            \
  COUNTRACE_DETAIL_COUNTER(4);            \
  COUNTRACE_DETAIL_COUNTER(5);            \
  COUNTRACE_DETAIL_COUNTER(6);            \
  COUNTRACE_DETAIL_COUNTER(7);            \
  COUNTRACE_DETAIL_COUNTER(8);            \
  COUNTRACE_DETAIL_COUNTER(9)
#endif

/* Hardware counter `index`, as its page numbers it, less one. */
static inline uint64_t countrace_detail_hardware_counter(uint32_t index) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return ((uint64_t)high << 32) | low;
#elif defined(__aarch64__)
  uint64_t v = 0;
  /* Waits until the program's earlier instructions are done. */
  __asm__ volatile("isb");
  switch (index) {
    COUNTRACE_DETAIL_FIRST_COUNTERS();
    COUNTRACE_DETAIL_TEN_COUNTERS(1);
    COUNTRACE_DETAIL_TEN_COUNTERS(2);
    COUNTRACE_DETAIL_COUNTER(30);
    case 31:
      __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
      break;
    default:
      break;
  }
  return v;
#else
  (void)index;
  return 0;
#endif
}

#if defined(__aarch64__)
#undef COUNTRACE_DETAIL_FIRST_COUNTERS
#undef COUNTRACE_DETAIL_TEN_COUNTERS
#undef COUNTRACE_DETAIL_COUNTER
#endif

/* The clock in which the page says when its event was scheduled. */
static inline uint64_t countrace_detail_page_clock(void) {
#if defined(__x86_64__)
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return ((uint64_t)high << 32) | low;
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
#else
  return 0;
#endif
}

/* Time since the kernel wrote the page's times, in ns. Requires:
 * page->cap_user_time. */
static inline uint64_t countrace_detail_page_ns(
    const volatile struct perf_event_mmap_page* page) {
  uint64_t ticks = countrace_detail_page_clock();
  const unsigned shift = page->time_shift;
  const uint64_t mult = page->time_mult;
  uint64_t rest;
  /* time_cycles and time_mask, which headers before Linux 5.10 do not name. */
  if ((page->capabilities >> 5 & 1) != 0) {
    const volatile uint64_t* const words =
        (const volatile uint64_t*)(const volatile void*)page;
    const uint64_t cycles = words[10], mask = words[11];
    ticks = cycles + ((ticks - cycles) & mask);
  }
  rest = ticks & (((uint64_t)1 << shift) - 1);
  return page->time_offset + (ticks >> shift) * mult + (rest * mult >> shift);
}

/* A counter, and how long its event was enabled and on a counter, in ns. */
struct countrace_detail_page_read {
  uint64_t count, enabled_ns, running_ns;
};

/* Reads `page` under its seqlock. 0: the event has no counter now. */
static inline int countrace_detail_read_page(
    const volatile struct perf_event_mmap_page* page, int with_times,
    struct countrace_detail_page_read* out) {
  uint32_t sequence, index;
  uint64_t raw;
  unsigned shift;
  out->enabled_ns = out->running_ns = 0;
  do {
    sequence = page->lock;
    __asm__ volatile("" ::: "memory"); /* the kernel writes on this CPU */
    index = page->index;
    if (index == 0) return 0;
    out->count = (uint64_t)page->offset;
    if (with_times) {
      const uint64_t since_ns = countrace_detail_page_ns(page);
      out->enabled_ns = page->time_enabled + since_ns;
      out->running_ns = page->time_running + since_ns;
    }
    /* Sign-extends from the counter's width: the sum is modular in it. */
    shift = 64u - page->pmc_width;
    raw = countrace_detail_hardware_counter(index - 1);
    out->count += (uint64_t)((int64_t)(raw << shift) >> shift);
    __asm__ volatile("" ::: "memory");
  } while (page->lock != sequence);
  return 1;
}

#endif /* COUNTRACE_COUNTS_PAGE_H_ */
