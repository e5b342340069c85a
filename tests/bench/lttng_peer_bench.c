/* Enter + exit as two LTTng-UST tracepoints. Prints "lttng_enter_exit NS"
 * (median of 15 loops), like hook_bench.
 *
 * usage: lttng_peer_bench [ITERATIONS [CPU [same]]]; `same`: with the fields
 * that countrace's hooks have in LTTng.
 */
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng_peer_provider.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOPS 15

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 500000;
  const int cpu = argc > 2 ? atoi(argv[2]) : -1;
  if (cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  const int same = argc > 3 && strcmp(argv[3], "same") == 0;
  double ns[LOOPS];
  for (int loop = 0; loop < LOOPS; ++loop) {
    const double begin = now_ns();
    for (int i = 0; same && i < iterations; ++i) {
      lttng_ust_tracepoint(countrace_peer, same_enter, 0, "bench:segment",
                           "()");
      lttng_ust_tracepoint(countrace_peer, same_exit, 0, "bench:segment", "()");
    }
    for (int i = 0; !same && i < iterations; ++i) {
      lttng_ust_tracepoint(countrace_peer, enter, (unsigned long)i);
      lttng_ust_tracepoint(countrace_peer, exit, (unsigned long)i);
    }
    ns[loop] = (now_ns() - begin) / iterations;
  }
  qsort(ns, LOOPS, sizeof(ns[0]), ascending);
  printf("lttng_enter_exit %.3f\n", ns[LOOPS / 2]);
  return 0;
}
