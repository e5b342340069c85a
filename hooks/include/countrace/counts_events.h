/* The events of counts.h by name, spelled as `countrace -e` and perf
 * spell them. C99 and C++17. Thread: any.
 *
 *   event    = name [ ":" modifier ]
 *   modifier = "u" | "k"            of user code, of the kernel alone
 *   name     = a name below | CACHE-OPERATION | "r" HEX, the PMU's own number
 */
#ifndef COUNTRACE_COUNTS_EVENTS_H_
#define COUNTRACE_COUNTS_EVENTS_H_

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* perf_event_attr's fields of an event. */
struct countrace_detail_event {
  uint32_t type;
  uint64_t config;
  int exclude_user, exclude_kernel;
};

/* The index of `name` in `table`, of which an entry is a name, or several with
 * '|' between; -1: it is not there. */
static inline int countrace_detail_index(const char* name, size_t length,
                                         const char* const* table,
                                         int ignores_case) {
  int index = 0;
  for (; table[index] != NULL; ++index) {
    const char* word = table[index];
    while (*word != '\0') {
      const size_t size = strcspn(word, "|");
      if (size == length && (ignores_case ? strncasecmp(word, name, length)
                                          : strncmp(word, name, length)) == 0) {
        return index;
      }
      word += size + (word[size] == '|');
    }
  }
  return -1;
}

/* "LLC-load-misses" in PERF_COUNT_HW_CACHE_*; 0: no such. */
static inline int countrace_detail_cache(const char* name, size_t length,
                                         uint64_t* config) {
  static const char* const caches[] = {
      "L1-dcache|l1-d", "L1-icache|l1-i", "LLC|L2", "dTLB|d-tlb",
      "iTLB|i-tlb",     "branch|bpu",     "node",   NULL};
  static const char* const operations[] = {
      "loads",      "load-misses",     "stores", "store-misses",
      "prefetches", "prefetch-misses", NULL};
  size_t dash;
  for (dash = 1; dash + 1 < length; ++dash) {
    const int cache =
        name[dash] == '-' ? countrace_detail_index(name, dash, caches, 1) : -1;
    const int operation =
        cache < 0 ? -1
                  : countrace_detail_index(name + dash + 1, length - dash - 1,
                                           operations, 0);
    if (operation < 0) continue;
    *config = (uint64_t)cache | (uint64_t)(operation / 2) << 8 |
              (uint64_t)(operation % 2) << 16;
    return 1;
  }
  return 0;
}

static inline int countrace_detail_raw(const char* name, size_t length,
                                       uint64_t* config) {
  size_t i;
  if (length < 2 || length > 17 || name[0] != 'r') return 0;
  *config = 0;
  for (i = 1; i < length; ++i) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char* const digit = strchr(digits, name[i]);
    if (digit == NULL || *digit == '\0') return 0;
    *config = *config << 4 | ((uint64_t)(digit - digits) & 15);
  }
  return 1;
}

/* Finds the event called `name`, of `length` bytes; 0: there is none. */
static inline int countrace_detail_find(const char* name, size_t length,
                                        struct countrace_detail_event* event) {
  static const char* const hardware[] = {
      "cycles|cpu-cycles",
      "instructions",
      "cache-references",
      "cache-misses",
      "branches|branch-instructions",
      "branch-misses",
      "bus-cycles",
      "stalled-cycles-frontend|idle-cycles-frontend",
      "stalled-cycles-backend|idle-cycles-backend",
      "ref-cycles",
      NULL};
  static const char* const software[] = {"cpu-clock",
                                         "task-clock",
                                         "page-faults|faults",
                                         "context-switches|cs",
                                         "cpu-migrations|migrations",
                                         "minor-faults",
                                         "major-faults",
                                         "alignment-faults",
                                         "emulation-faults",
                                         NULL};
  int index;
  event->exclude_user = event->exclude_kernel = 0;
  if (length > 2 && name[length - 2] == ':') {
    event->exclude_kernel = name[length - 1] == 'u';
    event->exclude_user = name[length - 1] == 'k';
    if (!event->exclude_kernel && !event->exclude_user) return 0;
    length -= 2;
  }
  if ((index = countrace_detail_index(name, length, software, 0)) >= 0) {
    event->type = PERF_TYPE_SOFTWARE;
    event->config = (uint64_t)index;
  } else if ((index = countrace_detail_index(name, length, hardware, 0)) >= 0) {
    event->type = PERF_TYPE_HARDWARE;
    event->config = (uint64_t)index;
  } else if (countrace_detail_cache(name, length, &event->config)) {
    event->type = PERF_TYPE_HW_CACHE;
  } else if (countrace_detail_raw(name, length, &event->config)) {
    event->type = PERF_TYPE_RAW;
  } else {
    return 0;
  }
  return 1;
}

#endif /* COUNTRACE_COUNTS_EVENTS_H_ */
