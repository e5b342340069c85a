/* How long the first hook of a process takes, and that of each of 16 threads
 * that live at the same time. Prints "first_of_process NS" and
 * "first_of_thread NS" (the median). With USE_LTTNG: LTTng-UST's tracepoints.
 */
#define _GNU_SOURCE
#ifdef USE_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/lttng_peer_provider.h"
#define FIRST_HOOK() lttng_ust_tracepoint(countrace_peer, enter, 1ul)
#else
#include <countrace/hooks.h>
#define FIRST_HOOK() COUNTRACE_HOOK("bench", "first", 1ul)
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 16

static pthread_barrier_t all;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static double ns[THREADS];

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double first_hook_ns(void) {
  const double begin = now_ns();
  FIRST_HOOK();
  return now_ns() - begin;
}

static void* run(void* result) {
  pthread_barrier_wait(&all);
  pthread_mutex_lock(&one_at_a_time);
  *(double*)result = first_hook_ns();
  pthread_mutex_unlock(&one_at_a_time);
  pthread_barrier_wait(&all);
  return NULL;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(void) {
  const double process_ns = first_hook_ns();
  pthread_t threads[THREADS];
  pthread_barrier_init(&all, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, &run, &ns[i]) != 0) return 1;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  qsort(ns, THREADS, sizeof(ns[0]), ascending);
  printf("first_of_process %.0f\nfirst_of_thread %.0f\n", process_ns,
         ns[THREADS / 2]);
  return 0;
}
