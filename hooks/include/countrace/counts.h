/* A program reads its own counts: cycles, cache misses, page faults of the
 * calling thread, around any piece of its code. C99 and C++17; header-only, and
 * needs neither a recorder nor a library.
 *
 *   struct countrace_counts counts;
 *   struct countrace_reading begin, end, work;
 *   int error = countrace_counts_open(&counts, "cycles,instructions");
 *   if (error != 0) puts(countrace_counts_text(error));
 *   countrace_counts_read(&counts, &begin);
 *   do_the_work();
 *   countrace_counts_read(&counts, &end);
 *   countrace_counts_between(&begin, &end, &work);
 *   printf("%" PRIu64 "\n", countrace_counts_value(&work, 0).value);
 *   countrace_counts_close(&counts);
 *
 * The events of a set count at the same time, from open to close, so that
 * their ratios are true. A read takes no system call where the kernel lets user
 * space read the counters and every event of the set has one; else it is one
 * read(2). A set whose counters were lent to others for a while gives estimates
 * that say so (COUNTRACE_SCALED), and one that had none gives no number.
 *
 * Thread: a set belongs to the thread that opens it; reads are
 * async-signal-safe there and preserve errno. A forked child can only close it.
 */
#ifndef COUNTRACE_COUNTS_H_
#define COUNTRACE_COUNTS_H_

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "countrace/counts_events.h"
#include "countrace/counts_page.h"

#ifdef __cplusplus
extern "C" {
#else
/* Strict C hides it. */
extern long syscall(long number, ...);
#endif

enum { COUNTRACE_COUNTS_MAX = 16 }; /* events of a set */

/* What the functions return; 0 is success. */
enum countrace_counts_error {
  COUNTRACE_COUNTS_NAME = 1, /* no event has this name (counts_events.h) */
  COUNTRACE_COUNTS_NUMBER,   /* no event, or more than COUNTRACE_COUNTS_MAX */
  COUNTRACE_COUNTS_ABSENT,   /* this machine cannot count the event */
  COUNTRACE_COUNTS_ACCESS,   /* kernel.perf_event_paranoid forbids the event */
  COUNTRACE_COUNTS_ROOM,     /* more events than the PMU counts at a time */
  COUNTRACE_COUNTS_SYSTEM,   /* a system call failed: errno says how */
  COUNTRACE_COUNTS_THREAD,   /* another thread's set, or of before a fork */
  COUNTRACE_COUNTS_CLOSED    /* the set is not open, or its descriptors */
};

/* An open set. Its members are private but for `wrong`. */
struct countrace_counts {
  char wrong[64]; /* after an error of open: the event's name, else "" */
  unsigned events;
  int by_pages;         /* each event has a counter that may be read */
  const int* is_opener; /* a page that is wiped in a forked child */
  pthread_t thread;
  int fds[COUNTRACE_COUNTS_MAX];
  struct perf_event_mmap_page* pages[COUNTRACE_COUNTS_MAX];
};

/* The counts of one instant, or between two. */
struct countrace_reading {
  uint64_t
      enabled_ns; /* time of the thread on a CPU since the set was opened */
  uint64_t running_ns; /* that part of it in which the events were counted */
  unsigned events;
  uint64_t counted[COUNTRACE_COUNTS_MAX]; /* in the order of the names */
};

enum countrace_quality {
  COUNTRACE_EXACT,
  COUNTRACE_SCALED, /* counted for a part of the time: an estimate */
  COUNTRACE_NOTHING /* never counted: there is no number */
};

/* One number. The truth is in [low, high]. */
struct countrace_count {
  uint64_t value;     /* 0 with COUNTRACE_NOTHING */
  uint64_t low, high; /* SCALED: what was counted, and UINT64_MAX: not known */
  enum countrace_quality quality;
};

/* What an error means, and what to do. Never null. */
static inline const char* countrace_counts_text(int error) {
  switch (error) {
    case 0:
      return "no error";
    case COUNTRACE_COUNTS_NAME:
      return "no such event: names are those of `perf list`, as in "
             "cycles,LLC-load-misses:u,page-faults,r01c2";
    case COUNTRACE_COUNTS_NUMBER:
      return "a set has 1 to 16 events";
    case COUNTRACE_COUNTS_ABSENT:
      return "this machine cannot count the event; `countrace doctor` says "
             "why, virtual machines often have no hardware counters";
    case COUNTRACE_COUNTS_ACCESS:
      return "not permitted: append :u to count user code alone, which needs "
             "kernel.perf_event_paranoid at most 2, or lower it to 1";
    case COUNTRACE_COUNTS_ROOM:
      return "more events than can be counted at the same time: open two sets";
    case COUNTRACE_COUNTS_SYSTEM:
      return "a system call failed: see errno";
    case COUNTRACE_COUNTS_THREAD:
      return "the set belongs to another thread, or to the process before "
             "fork: each thread opens its own";
    case COUNTRACE_COUNTS_CLOSED:
      return "the set is not open";
    default:
      return "unknown error";
  }
}

static inline int countrace_detail_open_error(int reason, int of_group) {
  switch (reason) {
    case EACCES:
    case EPERM:
      return COUNTRACE_COUNTS_ACCESS;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
    case ENOSYS:
      return COUNTRACE_COUNTS_ABSENT;
    case EINVAL: /* the event alone, or that the group does not fit */
      return of_group ? COUNTRACE_COUNTS_ROOM : COUNTRACE_COUNTS_ABSENT;
    case ENOSPC:
      return COUNTRACE_COUNTS_ROOM;
    default:
      return COUNTRACE_COUNTS_SYSTEM;
  }
}

/* Its descriptor; -1: see errno. */
static inline int countrace_detail_open_event(
    const struct countrace_detail_event* event, int leader) {
  struct perf_event_attr attr;
  int fd = -1;
#if defined(__aarch64__)
  /* User space must ask for a counter that it may read (bit 1), and may ask for
   * one of 64 bits (bit 0), which not every PMU has. */
  unsigned config1 = event->type == PERF_TYPE_SOFTWARE ? 0 : 3;
#else
  unsigned config1 = 0;
#endif
  memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = event->type;
  attr.config = event->config;
  attr.disabled = leader < 0;
  attr.exclude_hv = 1;
  attr.exclude_user = event->exclude_user != 0;
  attr.exclude_kernel = event->exclude_kernel != 0;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING;
  for (;;) {
    attr.config1 = config1;
    fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader,
                      PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0 || config1 == 0) return fd;
    config1 = config1 == 3 ? 2 : 0;
  }
}

static inline int countrace_detail_may_read(
    const struct countrace_counts* set) {
  if (set->events == 0) return COUNTRACE_COUNTS_CLOSED;
  if (*set->is_opener == 0 || !pthread_equal(set->thread, pthread_self())) {
    return COUNTRACE_COUNTS_THREAD;
  }
  return 0;
}

enum { COUNTRACE_DETAIL_PAGE = 4096 }; /* bytes mapped of a page */

/* Closes the set; it may be closed already, and any process that has it may
 * close it. Preserves errno. */
static inline void countrace_counts_close(struct countrace_counts* set) {
  const int saved_errno = errno;
  /* A forked child has none of the events' pages. */
  const int mapped = set->is_opener != NULL && *set->is_opener != 0;
  unsigned i;
  for (i = set->events; i-- > 0;) {
    if (mapped && set->pages[i] != NULL) {
      munmap(set->pages[i], COUNTRACE_DETAIL_PAGE);
    }
    close(set->fds[i]);
  }
  if (set->is_opener != NULL) {
    munmap((void*)(uintptr_t)set->is_opener, COUNTRACE_DETAIL_PAGE);
  }
  set->is_opener = NULL;
  set->events = 0;
  errno = saved_errno;
}

/* A page that says 1 here, and 0 in a forked child; NULL: see errno. Strict C
 * hides the names of the numbers, which are those of Linux. */
static inline const int* countrace_detail_opener_page(void) {
  const int private_anonymous = 0x22, wipe_on_fork = 18;
  void* const page = mmap(NULL, COUNTRACE_DETAIL_PAGE, PROT_READ | PROT_WRITE,
                          private_anonymous, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (syscall(SYS_madvise, page, (size_t)COUNTRACE_DETAIL_PAGE, wipe_on_fork) !=
      0) {
    munmap(page, COUNTRACE_DETAIL_PAGE);
    return NULL;
  }
  *(int*)page = 1;
  return (const int*)page;
}

/* Adds the event called `name`, of `length` bytes. */
static inline int countrace_detail_add(struct countrace_counts* set,
                                       const char* name, size_t length) {
  const int leader = set->events == 0 ? -1 : set->fds[0];
  struct countrace_detail_event event;
  void* page;
  int fd;
  const size_t kept =
      length < sizeof(set->wrong) ? length : sizeof(set->wrong) - 1;
  memcpy(set->wrong, name, kept);
  set->wrong[kept] = '\0';
  if (set->events == COUNTRACE_COUNTS_MAX) return COUNTRACE_COUNTS_NUMBER;
  if (!countrace_detail_find(name, length, &event)) {
    return COUNTRACE_COUNTS_NAME;
  }
  fd = countrace_detail_open_event(&event, leader);
  if (fd < 0) return countrace_detail_open_error(errno, leader >= 0);
  page = mmap(NULL, COUNTRACE_DETAIL_PAGE, PROT_READ, MAP_SHARED, fd, 0);
  set->pages[set->events] =
      page == MAP_FAILED ? NULL : (struct perf_event_mmap_page*)page;
  set->fds[set->events++] = fd;
  if (page == MAP_FAILED || event.type == PERF_TYPE_SOFTWARE ||
      !countrace_detail_page_readable((struct perf_event_mmap_page*)page) ||
      !((struct perf_event_mmap_page*)page)->cap_user_time) {
    set->by_pages = 0;
  }
  return 0;
}

/* Opens a set of the calling thread, which counts from now on. `events`: names
 * with commas between (counts_events.h); without :u and :k, of user code and
 * the kernel. On an error the set is closed, and set->wrong says which event it
 * is about. */
static inline int countrace_counts_open(struct countrace_counts* set,
                                        const char* events) {
  int error = 0;
  memset(set, 0, sizeof(*set));
  set->by_pages = 1;
  set->thread = pthread_self();
  set->is_opener = countrace_detail_opener_page();
  if (set->is_opener == NULL) return COUNTRACE_COUNTS_SYSTEM;
  if (*events == '\0') error = COUNTRACE_COUNTS_NUMBER;
  while (error == 0 && *events != '\0') {
    const size_t length = strcspn(events, ",");
    error = countrace_detail_add(set, events, length);
    events += length;
    /* A name is missing behind a last comma. */
    if (*events == ',' && *++events == '\0' && error == 0) {
      error = countrace_detail_add(set, events, 0);
    }
  }
  if (error == 0) {
    set->wrong[0] = '\0';
    if (ioctl(set->fds[0], PERF_EVENT_IOC_ENABLE, 0) != 0) {
      error = COUNTRACE_COUNTS_SYSTEM;
    }
  }
  if (error != 0) countrace_counts_close(set);
  return error;
}

/* 0: one of the events has no counter now. */
static inline int countrace_detail_read_pages(
    const struct countrace_counts* set, struct countrace_reading* out) {
  unsigned i;
  for (i = 0; i < set->events; ++i) {
    struct countrace_detail_page_read read;
    if (!countrace_detail_read_page(set->pages[i], i == 0, &read)) return 0;
    out->counted[i] = read.count;
    if (i == 0) {
      out->enabled_ns = read.enabled_ns;
      out->running_ns = read.running_ns;
    }
  }
  return 1;
}

/* Reads all events of the set: the counts since it was opened.
 * Async-signal-safe, preserves errno. Errors: COUNTRACE_COUNTS_THREAD, _CLOSED,
 * _SYSTEM; then `out` is not changed. */
static inline int countrace_counts_read(const struct countrace_counts* set,
                                        struct countrace_reading* out) {
  const int error = countrace_detail_may_read(set);
  const int saved_errno = errno;
  uint64_t words[3 + COUNTRACE_COUNTS_MAX];
  unsigned i;
  long got;
  if (error != 0) return error;
  if (set->by_pages && countrace_detail_read_pages(set, out)) {
    out->events = set->events;
    return 0;
  }
  do {
    got = (long)read(set->fds[0], words, sizeof(words));
  } while (got < 0 && errno == EINTR);
  if (got != (long)((3 + set->events) * sizeof(words[0])) ||
      words[0] != set->events) {
    if (got < 0 && errno != EBADF) return COUNTRACE_COUNTS_SYSTEM;
    errno = saved_errno;
    return COUNTRACE_COUNTS_CLOSED; /* the program closed its descriptors */
  }
  errno = saved_errno;
  out->events = set->events;
  out->enabled_ns = words[1];
  out->running_ns = words[2];
  /* No memcpy, also not by the compiler: on arm64 it may be made of SVE, whose
   * first instruction after a system call traps into the kernel. */
  for (i = 0; i < set->events; ++i) {
    out->counted[i] = words[3 + i];
    __asm__ volatile("" ::: "memory");
  }
  return 0;
}

/* What was counted between two readings of one set. `out` may be one of them.
 */
static inline void countrace_counts_between(
    const struct countrace_reading* begin, const struct countrace_reading* end,
    struct countrace_reading* out) {
  unsigned i;
  for (i = 0; i < end->events; ++i) {
    out->counted[i] = end->counted[i] - begin->counted[i];
  }
  out->enabled_ns = end->enabled_ns - begin->enabled_ns;
  out->running_ns = end->running_ns - begin->running_ns;
  out->events = end->events;
}

/* The number of event `index` (from 0) in a reading or a difference, with what
 * it is worth. Exact if the event was counted all the time. */
static inline struct countrace_count countrace_counts_value(
    const struct countrace_reading* reading, unsigned index) {
  struct countrace_count count = {0, 0, UINT64_MAX, COUNTRACE_NOTHING};
  if (index >= reading->events) return count;
  count.low = reading->counted[index];
  if (reading->running_ns == reading->enabled_ns) {
    count.value = count.high = count.low;
    count.quality = COUNTRACE_EXACT;
  } else if (reading->running_ns != 0) {
    count.value = (uint64_t)((double)count.low * (double)reading->enabled_ns /
                             (double)reading->running_ns);
    count.quality = COUNTRACE_SCALED;
  }
  return count;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* COUNTRACE_COUNTS_H_ */
